import { Alert, Spin, Typography } from "antd";
import { useEffect, useRef, useState, type CSSProperties, type ReactNode, type Ref, type RefObject } from "react";
import { useRequestStrings } from "../strings/detail";
import { visible } from "../base/visible";
import type { PdfFile } from "./pdf-file";
import { pdfProblemOf, type PdfProblem } from "./pdf-workers";

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
export function useIsNear(element: RefObject<HTMLElement | null>) {
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
export function PdfSheet({ ref, ratio, caption, children }: SheetProps) {
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
