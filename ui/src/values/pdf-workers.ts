/** Why a PDF is not drawn. */
export type PdfProblem = "broken" | "locked" | "large" | "late";

export class PdfError extends Error {
  constructor(readonly problem: PdfProblem) {
    super(problem);
  }
}

/** Return why something failed. */
export function pdfProblemOf(error: unknown): PdfProblem {
  if (error instanceof PdfError) return error.problem;
  return error instanceof Error && error.name === "PasswordException" ? "locked" : "broken";
}

const limits = { seconds: 30, imageBytes: 400 * 1024 * 1024 };

/** A message of pdf.js: an object of a page, or a part of its stream of operations. */
interface Message {
  data?: unknown[];
  stream?: number;
  reason?: unknown;
}

const isRunning = (worker: Worker) => new Promise<void>((resolve, reject) => {
  worker.addEventListener("message", () => resolve(), { once: true });
  worker.addEventListener("error", () => reject(new PdfError("broken")), { once: true });
});

/** The two workers of one file: one parses it, the other draws it. Both end if the file asks for too much time or memory. */
export class PdfWorkers {
  readonly parser: Worker;
  readonly renderer: Worker;
  /** Resolves once both run; loading them takes as long as the network needs. */
  readonly ready: Promise<unknown>;
  /** How many operations of pages failed. pdf.js ends a page at the first one, and does not say so. */
  errors = 0;
  #imageBytes = 0;
  #fail: (error: PdfError) => void = () => {};
  readonly #failure = new Promise<never>((_, reject) => {
    this.#fail = reject;
  });

  constructor(folder: string) {
    const [parser, renderer] = ["worker", "renderer"].map((name) => new Worker(`${folder}pdf.${name}.min.mjs`, { type: "module" })) as [Worker, Worker];
    this.parser = parser;
    this.renderer = renderer;
    this.ready = Promise.all([isRunning(parser), isRunning(renderer)]);
    this.#failure.catch(() => {});
    parser.addEventListener("message", ({ data }: MessageEvent<Message>) => this.#watch(data));
  }

  #watch({ data, stream, reason }: Message) {
    if (stream !== undefined && reason !== undefined) this.errors += 1;
    const image = Array.isArray(data) ? (data.at(-1) as { dataLen?: number } | null | undefined) : null;
    this.#imageBytes += image?.dataLen ?? 0;
    if (this.#imageBytes > limits.imageBytes) this.end("large");
  }

  /** Count the images of another page. */
  startPage() {
    this.#imageBytes = 0;
  }

  /** Return the result of work in the workers; end them if it takes too long. */
  async within<T>(work: Promise<T>): Promise<T> {
    let left = limits.seconds;
    const timer = setInterval(() => {
      // pdf.js draws in frames, and a page that nobody sees has none.
      if (!document.hidden) left -= 1;
      if (left === 0) this.end("late");
    }, 1_000);
    return Promise.race([work, this.#failure]).finally(() => clearInterval(timer));
  }

  /** End the workers, and what waits for them. */
  end(problem: PdfProblem) {
    this.parser.terminate();
    this.renderer.terminate();
    this.#fail(new PdfError(problem));
  }
}
