import { Alert, Spin, Typography } from "antd";
import type { PDFDocumentProxy, PDFPageProxy } from "pdfjs-dist";
import { useEffect, useRef, useState, type CSSProperties, type ReactNode, type Ref, type RefObject } from "react";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { lastLevel, useExpansion } from "./expansion";
import { MoreButton } from "./more-button";

/** Why a PDF is not drawn. */
export type PdfProblem = "broken" | "locked" | "large" | "late";

export class PdfError extends Error {
  constructor(readonly problem: PdfProblem) {
    super(problem);
  }
}

/** Return why something failed. */
function pdfProblemOf(error: unknown): PdfProblem {
  if (error instanceof PdfError) return error.problem;
  return error instanceof Error && error.name === "PasswordException" ? "locked" : "broken";
}

const workLimits = { seconds: 30, imageBytes: 400 * 1024 * 1024 };

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
    if (this.#imageBytes > workLimits.imageBytes) this.end("large");
  }

  /** Count the images of another page. */
  startPage() {
    this.#imageBytes = 0;
  }

  /** Return the result of work in the workers; end them if it takes too long. */
  async within<T>(work: Promise<T>): Promise<T> {
    let left = workLimits.seconds;
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

const limits = { bytes: 20 * 1024 * 1024, imagePixels: 40_000_000, pagePixels: 4_000_000, pageWidth: 1_600 };

/** Return the ratio of the first page as far as a look at the bytes tells, so that its room has the right size early. */
export function guessRatio(bytes: Uint8Array): number {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, 1_000_000));
  const [left, bottom, right, top] = (/\/MediaBox\s*\[\s*((?:[\d.+-]+\s+){3}[\d.+-]+)/.exec(text)?.[1] ?? "").split(/\s+/).map(Number);
  const ratio = ((right ?? 0) - (left ?? 0)) / ((top ?? 0) - (bottom ?? 0));
  return Number.isFinite(ratio) && ratio > 0 ? ratio : 1 / Math.SQRT2;
}

interface PdfPage {
  /** Its width divided by its height. */
  ratio: number;
  text: string;
  /** Draw the page until the signal says that nobody sees it; return whether everything of it was drawn. */
  draw: (canvas: HTMLCanvasElement, signal: AbortSignal) => Promise<boolean>;
}

/** An open PDF. A strict one refuses pages that it cannot draw completely; another draws what it can. */
interface PdfFile {
  pages: number;
  isStrict: boolean;
  /** The ratio of the first page. */
  ratio: number;
  page: (number: number) => Promise<PdfPage>;
  close: () => void;
}

function ratioOf(page: PDFPageProxy) {
  const { width, height } = page.getViewport({ scale: 1 });
  return width > 0 && height > 0 ? width / height : 1;
}

async function textOf(page: PDFPageProxy) {
  const { items } = await page.getTextContent();
  return items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
}

function viewportOf(page: PDFPageProxy) {
  const { width, height } = page.getViewport({ scale: 1 });
  return page.getViewport({ scale: Math.min(limits.pageWidth / Math.max(width, height / 4), Math.sqrt(limits.pagePixels / (width * height))) });
}

async function draw(page: PDFPageProxy, workers: PdfWorkers, canvas: HTMLCanvasElement, signal: AbortSignal) {
  const viewport = viewportOf(page);
  canvas.width = Math.max(1, Math.floor(viewport.width));
  canvas.height = Math.max(1, Math.floor(viewport.height));
  workers.startPage();
  const errors = workers.errors;
  const task = page.render({ canvas, viewport });
  let isDone = false;
  signal.addEventListener("abort", () => {
    if (!isDone) task.cancel();
    page.cleanup();
  });
  await workers.within(task.promise).finally(() => {
    isDone = true;
  });
  if (workers.errors > errors) throw new PdfError("broken");
  // An image that cannot be decoded is null, and a font that cannot be read is the text of its error.
  return ![...page.objs, ...page.commonObjs].some(([, data]) => data === null || typeof data === "string");
}

function fileOf(pdf: PDFDocumentProxy, ratio: number, isStrict: boolean, workers: PdfWorkers): PdfFile {
  const page = async (number: number): Promise<PdfPage> => {
    const one = await workers.within(pdf.getPage(number));
    const text = await workers.within(textOf(one)).catch(() => "");
    return { ratio: ratioOf(one), text, draw: (canvas, signal) => draw(one, workers, canvas, signal) };
  };
  const close = () => {
    const pause = new Promise((resolve) => { setTimeout(resolve, 1_000); });
    void Promise.race([pdf.loadingTask.destroy().catch(() => {}), pause]).finally(() => workers.end("late"));
  };
  return { pages: pdf.numPages, isStrict, ratio, page, close };
}

/** Open a PDF. Nothing in it runs, is followed or is fetched. */
export async function openPdf(bytes: Uint8Array, isStrict: boolean): Promise<PdfFile> {
  if (bytes.length > limits.bytes) throw new PdfError("large");
  const pdfjs = await import("pdfjs-dist/legacy/build/pdf.mjs");
  const folder = new URL(/* @vite-ignore */ `pdf-${pdfjs.version}/`, import.meta.url).href;
  const workers = new PdfWorkers(`${folder}build/`);
  try {
    await workers.ready;
    const verbosity = pdfjs.VerbosityLevel.ERRORS;
    pdfjs.GlobalWorkerOptions.rendererPorts = [workers.renderer];
    const { promise } = pdfjs.getDocument({
      data: bytes.slice(), worker: pdfjs.PDFWorker.create({ port: workers.parser, verbosity }), verbosity, stopAtErrors: isStrict,
      // The policy of the page forbids WebAssembly.
      useWasm: false, enableXfa: false, useSystemFonts: true, maxImageSize: limits.imagePixels,
      cMapUrl: `${folder}cmaps/`, standardFontDataUrl: `${folder}standard_fonts/`, wasmUrl: `${folder}wasm/`,
    });
    const pdf = await workers.within(promise);
    return fileOf(pdf, ratioOf(await workers.within(pdf.getPage(1))), isStrict, workers);
  } catch (error) {
    workers.end(pdfProblemOf(error));
    throw error;
  }
}

/** Characters of a page that a screen reader gets. */
const maxText = 20_000;

/** In the style sheet, these would be a part of the first view. */
const styles: Record<string, CSSProperties> = {
  figure: { display: "grid", gap: 4, maxWidth: 800, minWidth: 0, margin: 0 },
  // Paper is white in the dark, too.
  paper: { position: "relative", display: "grid", placeItems: "center", background: "#fff", border: "1px solid var(--ant-color-border)" },
  canvas: { position: "absolute", inset: 0, width: "100%", height: "100%", objectFit: "contain" },
};

/** Return whether an element is on the screen, or nearly. */
function useIsNear(element: RefObject<HTMLElement | null>) {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? false), { rootMargin: "50%" });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return isNear;
}

interface SheetProps {
  ref?: Ref<HTMLDivElement>;
  ratio: number;
  caption: ReactNode;
  children: ReactNode;
}

/** The room of a page, with its caption. A page that is very long or very wide is drawn smaller in it. */
function PdfSheet({ ref, ratio, caption, children }: SheetProps) {
  return (
    <figure style={styles.figure}>
      <figcaption>{caption}</figcaption>
      <div ref={ref} style={{ ...styles.paper, aspectRatio: Math.min(4, Math.max(0.25, ratio)) }} data-testid="pdf-paper">{children}</div>
    </figure>
  );
}

interface PageProps {
  file: PdfFile;
  number: number;
  name: string;
  /** Called if a page of a strict file cannot be drawn. */
  onBroken: () => void;
}

/** One page: drawn while it is near the screen, in a room that is there before. */
export function PdfPageView({ file, number, name, onBroken }: PageProps) {
  const { values: { pdf: texts } } = useRequestStrings();
  const paper = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [ratio, setRatio] = useState(file.ratio);
  const [text, setText] = useState("");
  const [isWhole, setWhole] = useState(file.isStrict);
  const [state, setState] = useState<"drawing" | "drawn" | PdfProblem>("drawing");
  const isNear = useIsNear(paper);
  useEffect(() => {
    const surface = canvas.current;
    if (!isNear || !surface) return;
    const left = new AbortController();
    const paint = async () => {
      const page = await file.page(number);
      if (left.signal.aborted) return;
      setRatio(page.ratio);
      setText(page.text);
      const isAll = await page.draw(surface, left.signal);
      if (left.signal.aborted) return;
      setState("drawn");
      setWhole(isAll && file.isStrict);
    };
    setState("drawing");
    paint().catch((error: unknown) => {
      if (left.signal.aborted) return;
      const problem = pdfProblemOf(error);
      if (problem === "broken" && file.isStrict) onBroken();
      else setState(problem);
    });
    return () => {
      left.abort();
      // The memory of pages that nobody sees is free for others.
      surface.width = 0;
    };
    // oxlint-disable-next-line react/exhaustive-deps -- a page is not drawn again because its parent is
  }, [file, number, isNear]);
  const title = texts.page(number, file.pages);
  const gap = !isWhole && <Typography.Text type="warning" data-testid="pdf-incomplete"> {texts.incomplete}</Typography.Text>;
  return (
    <PdfSheet ref={paper} ratio={ratio} caption={<><span className="quiet">{title}</span>{gap}</>}>
      {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the picture is drawn by a program */}
      <canvas ref={canvas} role="img" aria-label={`${name}: ${title}`} style={styles.canvas} data-state={state} data-testid={`pdf-page-${number}`} />
      {state === "drawing" && <Spin aria-label={texts.loading} />}
      {state !== "drawing" && state !== "drawn" && <Alert type="warning" showIcon title={texts.problems[state]} />}
      {text && <div className="visually-hidden">{visible(text.slice(0, maxText))}{text.length > maxText && ` ${texts.incomplete}`}</div>}
    </PdfSheet>
  );
}

const maxPages = 500;

/** Open the file of a view once it is near the screen; one that cannot be drawn completely is opened again, less strictly. */
function usePdf(load: () => Promise<Uint8Array>, isNear: boolean) {
  const [isStrict, setStrict] = useState(true);
  const [isWanted, setWanted] = useState(isNear);
  // Portrait A4, until the bytes are there.
  const [ratio, setRatio] = useState(1 / Math.SQRT2);
  const [file, setFile] = useState<PdfFile | null>(null);
  const [problem, setProblem] = useState<PdfProblem | null>(null);
  if (isNear && !isWanted) setWanted(true);
  useEffect(() => {
    if (!isWanted) return;
    let opened: PdfFile | null = null;
    let isLeft = false;
    const open = async () => {
      const bytes = await load();
      setRatio(guessRatio(bytes));
      opened = await openPdf(bytes, isStrict);
      if (isLeft) opened.close();
      else setFile(opened);
    };
    open().catch((error: unknown) => {
      if (isLeft) return;
      const found = pdfProblemOf(error);
      if (isStrict && found === "broken") setStrict(false);
      else setProblem(found);
    });
    return () => {
      isLeft = true;
      opened?.close();
      setFile(null);
    };
    // oxlint-disable-next-line react/exhaustive-deps -- another file has another key
  }, [isWanted, isStrict]);
  return { file, problem, ratio, reopen: () => setStrict(false) };
}

/** The pages of a PDF as pictures: its first one at once. Nothing in the file can be pressed. */
export function PdfPages({ load, name }: { load: () => Promise<Uint8Array>; name: string }) {
  const { values: { pdf: texts } } = useRequestStrings();
  const { level, expand } = useExpansion();
  const view = useRef<HTMLElement>(null);
  const { file, problem, ratio, reopen } = usePdf(load, useIsNear(view));
  const pages = file?.pages ?? 1;
  const shown = Math.min(pages, level < lastLevel ? 10 ** level : maxPages);
  return (
    <section ref={view} style={{ display: "grid", gap: 12 }} aria-label={file ? texts.file(pages) : "PDF"} data-testid="pdf-pages">
      {problem && <Alert type="warning" showIcon title={texts.problems[problem]} data-testid="pdf-problem" />}
      {!file && !problem && <PdfSheet ratio={ratio} caption={<span className="quiet">{texts.loading}</span>}><Spin /></PdfSheet>}
      {file && Array.from({ length: shown }, (_, at) => <PdfPageView key={at} file={file} number={at + 1} name={name} onBroken={reopen} />)}
      {shown < Math.min(pages, maxPages) && <MoreButton label={texts.more(pages - shown)} onExpand={expand} />}
      {shown === maxPages && pages > maxPages && <p data-testid="pdf-rest">{texts.rest(pages - maxPages)}</p>}
    </section>
  );
}
