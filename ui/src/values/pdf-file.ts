import type { PDFDocumentProxy, PDFPageProxy } from "pdfjs-dist";
import { PdfError, pdfProblemOf, PdfWorkers } from "./pdf-workers";

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
export interface PdfFile {
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
