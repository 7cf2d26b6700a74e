import { Button, Input, Select } from "antd";
import { useId, useState, type SyntheticEvent } from "react";
import type { PlaybookChange } from "../api/schema";
import { TextDiff } from "../request/value-diff";
import { useKeys } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { useChange } from "./api";
import type { Bullet } from "./types";
import { useLearningWords } from "./words";

const longest = 2_000;

interface EditBulletProps {
  playbook: string;
  /** The line that is changed; without it a new one is written. */
  bullet?: Bullet;
  onDone: () => void;
}

/** The text and the section of a line, by a person's own hand. */
export function EditBullet({ playbook, bullet, onDone }: EditBulletProps) {
  const words = useLearningWords();
  const id = useId();
  const [text, type] = useState(bullet?.text ?? "");
  const [section, choose] = useState(bullet?.section ?? "strategies");
  const { mutate, isPending, error } = useChange(playbook);
  const isChanged = text.trim() !== "" && (text !== bullet?.text || section !== bullet.section);
  const save = () => {
    if (!isChanged || isPending) return;
    // What is changed is what was on screen when somebody began: the server refuses it where that has changed.
    const of = bullet ? { op: "edit", bullet: bullet.id, base: bullet.hash } as const : { op: "add" } as const;
    mutate({ ...of, text, section: section as PlaybookChange["section"] }, { onSuccess: onDone });
  };
  useKeys(words.editBullet, [
    { key: "mod+Enter", label: words.saveBullet, run: save, whileTyping: true, once: true },
    { key: "Escape", label: words.back, run: onDone, whileTyping: true },
  ]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save();
  };
  return (
    <form className="edit-bullet" onSubmit={submit} noValidate aria-label={bullet ? words.editBullet : words.addBullet}>
      <label htmlFor={`${id}-text`} className="quiet">{words.textOfBullet}</label>
      <Input.TextArea
        id={`${id}-text`} autoFocus autoSize={{ minRows: 2, maxRows: 10 }} value={text} readOnly={isPending} count={{ show: true, max: longest }}
        onChange={(event) => type(event.target.value)} data-testid="bullet-text-box"
      />
      {bullet && text !== bullet.text && <div className="learn-text"><TextDiff before={bullet.text} after={text} /></div>}
      <label htmlFor={`${id}-section`} className="quiet">{words.sectionOfBullet}</label>
      <Select
        id={`${id}-section`} value={section} onChange={choose} disabled={isPending} className="wide"
        options={Object.entries(words.sections).map(([value, label]) => ({ value, label }))}
      />
      <Problem error={error} />
      <div className="button-bar">
        <Button type="primary" htmlType="submit" loading={isPending} disabled={!isChanged} data-testid="save-bullet">{words.saveBullet}</Button>
        <Button disabled={isPending} onClick={onDone}>{words.back}</Button>
      </div>
    </form>
  );
}
