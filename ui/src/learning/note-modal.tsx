import { Modal } from "antd";
import { isStatus } from "../api/call";
import { Prose } from "../thread/prose";
import { Clock } from "../widgets/time";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { useNote } from "./api";
import type { Reference } from "./types";
import { named, useLearningWords } from "./words";

/** One note as its source has it now; what is missing is named. */
export default function NoteModal({ note, onClose }: { note: Reference; onClose: () => void }) {
  const words = useLearningWords();
  const { source, noteId } = note;
  const { data, error, refetch } = useNote(note);
  const from = visible(named(words.sources, source));
  return (
    <Modal
      open width={680} onCancel={onClose} footer={null} title={data?.title ? visible(data.title) : visible(noteId)} data-testid="note-modal"
      getContainer={() => document.querySelector<HTMLElement>(".app") ?? document.body}
      closable={{ "aria-label": words.closeNote }}
    >
      <div className="note">
        <p className="quiet">{words.noteBy(from)} · {visible(noteId)}{data && <> · <Clock at={data.createdAt} /></>}</p>
        {isStatus(error, 404)
          ? <Problem error={error} title={words.noteMissing(from, visible(noteId))} />
          : error && !data && <Problem error={error} retry={() => void refetch()} />}
        {!data && !error && <Loading />}
        {data && <div data-testid="note-content"><Prose text={data.content} /></div>}
      </div>
    </Modal>
  );
}
