import { Alert, Spin } from "antd";
import { useEffect, useRef, useState } from "react";
import { useRequestStrings } from "../strings/detail";
import { lastLevel, MoreButton, useExpansion } from "./expansion";
import { guessRatio, openPdf, type PdfFile } from "./pdf-file";
import { PdfPageView, PdfSheet, useIsNear } from "./pdf-page";
import { pdfProblemOf, type PdfProblem } from "./pdf-workers";

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
