import { useStrings } from "../strings";
import { Prose } from "../thread/prose";
import type { Item, StreamState } from "../thread/stream";
import { WorkingSpinner } from "./working-spinner";
import { visible } from "../widgets/visible";
import { BulletRef, Ref } from "./ref";
import type { Turn } from "./types";
import { useLearningWords } from "./words";

/** What the newest run of a thread has said and done so far. */
function newestRun({ items }: StreamState): Item[] {
  return items.slice(items.findLastIndex((item) => item.kind === "run" && item.reason === "started") + 1);
}

/** The words that are being written: what was said before a tool was called is no answer. */
function beingSaid(items: Item[]): string {
  const last = items.findLast(({ kind }) => kind === "message" || kind === "tool");
  return last?.kind === "message" && last.role === "assistant" ? last.text : "";
}

function toolNow(items: Item[]): string | undefined {
  const last = items.findLast(({ kind }) => kind === "message" || kind === "tool");
  return last?.kind === "tool" ? last.name : undefined;
}

/** An answer that is not there yet: as far as it is written, and that it goes on. */
export function Answering({ stream }: { stream: StreamState }) {
  const words = useLearningWords();
  const strings = useStrings();
  const items = newestRun(stream);
  const said = beingSaid(items);
  const tool = toolNow(items);
  return (
    <>
      {said && <div data-testid="answer" aria-busy="true"><Prose text={said} /></div>}
      <WorkingSpinner words={words.blooming.answering} more={tool && strings.doingTool(visible(tool))} />
    </>
  );
}

/** The answer, and the notes that it rests on. */
export function Answer({ turn: { response, references, bullets } }: { turn: Turn }) {
  const words = useLearningWords();
  const others = references.filter(({ source, noteId }) => source !== "playbook" || !bullets.includes(noteId));
  return (
    <>
      <div data-testid="answer"><Prose text={response ?? ""} /></div>
      {others.length + bullets.length > 0 && (
        <ul className="refs" aria-label={words.notes} data-testid="refs">
          {others.map((note) => <li key={`${note.source}/${note.noteId}`}><Ref note={note} /></li>)}
          {bullets.map((id) => <li key={id}><BulletRef id={id} named /></li>)}
        </ul>
      )}
    </>
  );
}
