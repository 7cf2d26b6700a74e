import { Button } from "antd";
import { Suspense, useState } from "react";
import { lazyWithRetry } from "../../base/browser";
import { visible } from "../../base/visible";
import type { Reference } from "./api";
import { labelOf, useLearningStrings } from "./strings";

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
