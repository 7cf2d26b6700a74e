import { Button } from "antd";
import { Suspense, useState } from "react";
import { lazyWithRetry } from "../widgets/lazy";
import { visible } from "../widgets/visible";
import type { Evidence, Reference } from "./types";
import { named, useLearningWords } from "./words";

const NoteModal = lazyWithRetry(() => import("./note-modal"));

interface RefProps {
  note: Reference;
  /** What the button says; the source and id of the note unless told. */
  label?: string;
}

/** A note by its source and id: it opens over the page. */
export function Ref({ note, label }: RefProps) {
  const words = useLearningWords();
  const [open, setOpen] = useState(false);
  const { source, noteId } = note;
  const name = named(words.sources, source);
  return (
    <>
      <Button
        size="small" className="ref" data-testid="ref" data-source={source} data-note={noteId} aria-haspopup="dialog"
        title={words.refNamed(visible(name), visible(noteId))} onClick={() => setOpen(true)}
      >
        {label ?? <><span className="ref-mark">{words.ref}</span> {visible(name)} · {visible(noteId)}</>}
      </Button>
      {open && <Suspense><NoteModal note={note} onClose={() => setOpen(false)} /></Suspense>}
    </>
  );
}

/** A line of the playbook, which is a note too; where it stands among other notes its source is named. */
export function BulletRef({ id, named: isNamed = false }: { id: string; named?: boolean }) {
  return <Ref note={{ source: "playbook", noteId: id }} {...(!isNamed && { label: visible(id) })} />;
}

/** Where a quote stands: a note opens, all else is named. */
export function EvidenceRef({ where, reference }: { where: Evidence["where"]; reference: string | null }) {
  const words = useLearningWords();
  const at = reference?.indexOf("/") ?? -1;
  if (where === "playbook" && reference) return <BulletRef id={reference.slice(at + 1)} />;
  if (where === "note" && reference && at > 0) return <Ref note={{ source: reference.slice(0, at), noteId: reference.slice(at + 1) }} />;
  return <span className="quiet">{named(words.wheres, where)}</span>;
}
