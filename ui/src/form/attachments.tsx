import { Button, Image, Progress } from "antd";
import { useContext, useEffect, useRef, useState, type DragEvent } from "react";
import { downloadAttachment, fileAddress, uploadAttachment } from "../api/files";
import { ProblemError } from "../api/call";
import type { AttachedFile as Attached } from "../api/schema";
import { fieldText, problemText, ruleText } from "../strings/catalogue";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { PdfPages } from "../values/pdf-pages";
import { visible } from "../base/visible";
import { RequestIdContext, type ControlProps } from "./control-props";
import { formatSize, isFile, isUploading, uploadInProgress } from "./values";

/** A file that a person attached: its name is a download link, and an image or a PDF is shown too. */
export function AttachedFile({ id, file }: { id: string; file: Attached }) {
  const strings = useRequestStrings();
  const name = visible(file.name);
  const address = fileAddress(id, file.number);
  return (
    <figure className="attached" data-testid={`attached-${file.number}`}>
      <figcaption>
        <a href={address} download={file.name} className="display-link">{name}</a>{" "}
        <span className="quiet">{formatSize(file.size, strings)}</span>
      </figcaption>
      {file.media_type.startsWith("image/") && <Image src={address} alt={name} className="display-image" />}
      {file.media_type === "application/pdf" && <PdfPages key={address} name={name} load={() => downloadAttachment(address)} />}
    </figure>
  );
}

function errorMessage(error: unknown, strings: RequestStrings): string {
  if (!(error instanceof ProblemError)) return strings.texts.decision.failed;
  const [first] = error.errors;
  if (first) return fieldText(first, strings);
  if (error.status === 413) return strings.fileTooLarge;
  return error.status === 0 ? strings.fileNotReceived : visible(problemText(error, strings, true));
}

/** Upload a file and put the server's record of it into the form; until then the form cannot be sent. */
function useUpload({ field, value, onChange }: ControlProps) {
  const strings = useRequestStrings();
  const id = useContext(RequestIdContext);
  const [percent, setPercent] = useState<number | null>(null);
  // An upload that a reload interrupted does not continue.
  const [problem, setProblem] = useState(isUploading(value) ? strings.fileNotReceived : "");
  const latest = useRef(onChange);
  const currentUpload = useRef<AbortController>(null);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(() => {
    if (isUploading(value)) latest.current(undefined);
    return () => currentUpload.current?.abort();
    // oxlint-disable-next-line react/exhaustive-deps -- once: what was cut off before
  }, []);
  const send = async (file: File) => {
    if (id === null) return;
    const controller = new AbortController();
    currentUpload.current?.abort();
    currentUpload.current = controller;
    setProblem("");
    setPercent(0);
    latest.current(uploadInProgress(file.name));
    try {
      const attached = await uploadAttachment(id, field.name, file, (now) => currentUpload.current === controller && setPercent(now), controller.signal);
      if (currentUpload.current === controller) latest.current({ ...attached });
    } catch (error) {
      if (currentUpload.current !== controller) return;
      latest.current(undefined);
      if (!controller.signal.aborted) setProblem(errorMessage(error, strings));
    }
    setPercent(null);
  };
  const choose = (file: File | undefined) => {
    if (!file) return;
    const most = field.max_size ?? Infinity;
    if (file.size > 0 && file.size <= most) void send(file);
    else setProblem(ruleText("file_size", { max_bytes: most }, strings));
  };
  return { id, percent, problem, choose, stop: () => currentUpload.current?.abort() };
}

/** A file input: chosen, photographed or dropped; the file is uploaded at once. */
export default function AttachmentControl(props: ControlProps) {
  const { field, id, value, onChange, disabled, aria } = props;
  const strings = useRequestStrings();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const { id: request, percent, problem, choose, stop } = useUpload(props);
  const types = field.media_types ?? [];
  const isOpen = !disabled && request !== null;
  const dragOver = (event: DragEvent, now: boolean) => {
    if (!isOpen || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(now);
  };
  const drop = (event: DragEvent) => {
    dragOver(event, false);
    if (isOpen) choose(event.dataTransfer.files[0]);
  };
  const labels = `${aria["aria-labelledby"] ?? ""} ${id}`.trim();
  const described = [aria["aria-describedby"], problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div
      className="attachment" data-over={isOver} onDragOver={(event) => dragOver(event, true)} onDragLeave={(event) => dragOver(event, false)} onDrop={drop}
    >
      {isFile(value) && (request === null ? <span>{visible(value.name)}</span> : <AttachedFile id={request} file={value} />)}
      {isOpen && percent === null && (
        <div className="attach-line">
          <Button
            id={id} aria-labelledby={labels} aria-describedby={described || undefined} data-testid="choose-file"
            onClick={() => input.current?.click()}
          >
            {isFile(value) ? strings.chooseOtherFile : strings.chooseFile}
          </Button>
          {isFile(value)
            ? <Button data-testid="remove-file" onClick={() => onChange(undefined)}>{strings.removeFile(visible(value.name))}</Button>
            : <span className="quiet">{strings.dropHint}</span>}
        </div>
      )}
      {percent !== null && (
        <div className="attach-line">
          <Progress percent={percent} size="small" aria-label={strings.uploadingFile} className="wide" />
          <Button data-testid="stop-file" onClick={stop}>{strings.cancelUpload}</Button>
        </div>
      )}
      <input
        ref={input} type="file" hidden accept={types.join(",")} data-testid="file-input"
        onChange={({ target }) => {
          choose(target.files?.[0]);
          target.value = "";
        }}
      />
      {problem && <div id={`${id}-problem`} role="alert" className="file-problem">{problem}</div>}
    </div>
  );
}
