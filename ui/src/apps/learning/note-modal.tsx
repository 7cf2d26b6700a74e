import { Modal } from "antd";
import { isStatus } from "../../api/call";
import { Prose } from "../../values/prose";
import { Timestamp } from "../../widgets/timestamp";
import { Problem } from "../../widgets/problem";
import { visible } from "../../base/visible";
import { Loading } from "../../widgets/loading";
import { useNote, type Reference } from "./api";
import { labelOf, useLearningStrings } from "./strings";

/** The current version of a note in a dialog; a missing note is named. */
export default function NoteModal({ note, onClose }: { note: Pick<Reference, "source" | "noteId">; onClose: () => void }) {
  const strings = useLearningStrings();
  const { source, noteId } = note;
  const { data, error, refetch } = useNote(note);
  const from = visible(labelOf(strings.sources, source));
  return (
    <Modal
      open width={680} onCancel={onClose} footer={null} title={data?.title ? visible(data.title) : visible(noteId)} data-testid="note-modal"
      getContainer={() => document.querySelector<HTMLElement>(".app") ?? document.body}
      closable={{ "aria-label": strings.closeNote }}
    >
      <div className="note">
        <p className="quiet">{strings.noteSource(from)} · {visible(noteId)}{data && <> · <Timestamp at={data.createdAt} /></>}</p>
        {isStatus(error, 404)
          ? <Problem error={error} title={strings.noteMissing(from, visible(noteId))} />
          : error && !data && <Problem error={error} retry={() => void refetch()} />}
        {!data && !error && <Loading />}
        {data && <div data-testid="note-content"><Prose text={data.content} /></div>}
      </div>
    </Modal>
  );
}
