import { Prose } from "../values/prose";
import type { Item, StreamState } from "../thread/stream";
import { WorkingSpinner } from "./working-spinner";
import { visible } from "../base/visible";
import { BulletRef, NoteRef } from "./ref";
import type { Turn } from "./types";
import { useLearningStrings } from "../strings/learning";

/** Return the items of the newest run of a thread. */
function newestRun({ items }: StreamState): Item[] {
  return items.slice(items.findLastIndex((item) => item.kind === "run" && item.reason === "started") + 1);
}

/** Return the text that the agent is writing now; text before a tool call is not the answer. */
function partialText(items: Item[]): string {
  const last = items.findLast(({ kind }) => kind === "message" || kind === "tool");
  return last?.kind === "message" && last.role === "assistant" ? last.text : "";
}

function currentTool(items: Item[]): string | undefined {
  const last = items.findLast(({ kind }) => kind === "message" || kind === "tool");
  return last?.kind === "tool" ? last.name : undefined;
}

/** An unfinished answer: its text so far, and the current activity. */
export function PartialAnswer({ stream }: { stream: StreamState }) {
  const strings = useLearningStrings();
  const items = newestRun(stream);
  const text = partialText(items);
  const tool = currentTool(items);
  return (
    <>
      {text && <div data-testid="answer" aria-busy="true"><Prose text={text} /></div>}
      <WorkingSpinner label={strings.phaseLabels.answering} more={tool && strings.agentWaitsForTool(visible(tool))} />
    </>
  );
}

/** The answer and the notes that it uses. */
export function Answer({ turn: { response, references, bullets } }: { turn: Turn }) {
  const strings = useLearningStrings();
  const others = references.filter(({ source, noteId }) => source !== "playbook" || !bullets.includes(noteId));
  return (
    <>
      <div data-testid="answer"><Prose text={response ?? ""} /></div>
      {others.length + bullets.length > 0 && (
        <ul className="refs" aria-label={strings.notes} data-testid="refs">
          {others.map((note) => <li key={`${note.source}/${note.noteId}`}><NoteRef note={note} /></li>)}
          {bullets.map((id) => <li key={id}><BulletRef id={id} showSource /></li>)}
        </ul>
      )}
    </>
  );
}
