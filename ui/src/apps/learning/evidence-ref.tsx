import { visible } from "../../base/visible";
import { labelOf, useLearningStrings } from "./strings";
import type { Evidence } from "./api";
import { NoteRef } from "./note-ref";

/** The source of a quote: a button for a note, otherwise its name. */
export function EvidenceRef({ where, reference }: { where: Evidence["where"]; reference: string | null }) {
  const strings = useLearningStrings();
  const at = reference?.indexOf("/") ?? -1;
  if (where === "playbook" && reference) return <NoteRef note={{ source: "playbook", noteId: reference.slice(at + 1) }} label={visible(reference.slice(at + 1))} />;
  if (where === "note" && reference && at > 0) return <NoteRef note={{ source: reference.slice(0, at), noteId: reference.slice(at + 1) }} />;
  return <span className="quiet">{labelOf(strings.evidenceSources, where)}</span>;
}
