import { Button } from "antd";
import { Suspense, useState } from "react";
import { lazyWithRetry } from "../base/lazy";
import { visible } from "../base/visible";
import type { Evidence, Reference } from "./types";
import { labelOf, useLearningStrings } from "../strings/learning";

const NoteModal = lazyWithRetry(() => import("./note-modal"));

interface NoteRefProps {
  note: Pick<Reference, "source" | "noteId">;
  /** The text of the button; by default the source and id of the note. */
  label?: string;
}

/** A button that opens a note in a dialog. */
export function NoteRef({ note, label }: NoteRefProps) {
  const strings = useLearningStrings();
  const [open, setOpen] = useState(false);
  const { source, noteId } = note;
  const name = labelOf(strings.sources, source);
  return (
    <>
      <Button
        size="small" className="ref" data-testid="ref" data-source={source} data-note={noteId} aria-haspopup="dialog"
        title={strings.openNote(visible(name), visible(noteId))} onClick={() => setOpen(true)}
      >
        {label ?? <><span className="ref-mark">{strings.ref}</span> {visible(name)} · {visible(noteId)}</>}
      </Button>
      {open && <Suspense><NoteModal note={note} onClose={() => setOpen(false)} /></Suspense>}
    </>
  );
}

/** A button that opens a bullet of the playbook; with `showSource` it also names the source. */
export function BulletRef({ id, showSource = false }: { id: string; showSource?: boolean }) {
  return <NoteRef note={{ source: "playbook", noteId: id }} {...(!showSource && { label: visible(id) })} />;
}

/** The source of a quote: a button for a note, otherwise its name. */
export function EvidenceRef({ where, reference }: { where: Evidence["where"]; reference: string | null }) {
  const strings = useLearningStrings();
  const at = reference?.indexOf("/") ?? -1;
  if (where === "playbook" && reference) return <BulletRef id={reference.slice(at + 1)} />;
  if (where === "note" && reference && at > 0) return <NoteRef note={{ source: reference.slice(0, at), noteId: reference.slice(at + 1) }} />;
  return <span className="quiet">{labelOf(strings.evidenceSources, where)}</span>;
}
