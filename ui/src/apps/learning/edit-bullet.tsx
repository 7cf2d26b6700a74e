import { Button, Input, Select } from "antd";
import { useId, useState, type SyntheticEvent } from "react";
import type { PlaybookChange } from "../../api/schema";
import { useKeys } from "../../base/keys";
import { TextDiff } from "../../form/text-diff";
import { useLearningStrings } from "./strings";
import { Problem } from "../../widgets/problem";
import { useChange, type Bullet } from "./api";

const maxLength = 2_000;

const maxScopeLength = 200;

interface EditBulletProps {
  playbook: string;
  /** The bullet to edit; without it a new one is added. */
  bullet?: Bullet;
  onDone: () => void;
}

/** The form in which a person writes the text, the scope and the section of a bullet. */
export function EditBullet({ playbook, bullet, onDone }: EditBulletProps) {
  const strings = useLearningStrings();
  const id = useId();
  const [text, type] = useState(bullet?.text ?? "");
  const [section, choose] = useState(bullet?.section ?? "strategies");
  const [scope, limit] = useState(bullet?.applies_when ?? "");
  const { mutate, isPending, error } = useChange(playbook);
  const isOtherScope = scope !== (bullet?.applies_when ?? "");
  const isChanged = text.trim() !== "" && (text !== bullet?.text || section !== bullet.section || isOtherScope);
  const save = () => {
    if (!isChanged || isPending) return;
    // The hash names the version on screen, so the server refuses the edit if the bullet has changed.
    const target = bullet ? { op: "edit", bullet: bullet.id, base: bullet.hash } as const : { op: "add" } as const;
    const place = { section: section as PlaybookChange["section"], ...isOtherScope && { applies_when: scope } };
    mutate({ ...target, text, ...place }, { onSuccess: onDone });
  };
  useKeys(strings.editBullet, [
    { key: "mod+Enter", label: strings.saveBullet, run: save, whileTyping: true, once: true },
    { key: "Escape", label: strings.back, run: onDone, whileTyping: true },
  ]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save();
  };
  return (
    <form className="edit-bullet" onSubmit={submit} noValidate aria-label={bullet ? strings.editBullet : strings.addBullet}>
      <label htmlFor={`${id}-text`} className="quiet">{strings.bulletText}</label>
      <Input.TextArea
        id={`${id}-text`} autoFocus autoSize={{ minRows: 2, maxRows: 10 }} value={text} readOnly={isPending} count={{ show: true, max: maxLength }}
        onChange={(event) => type(event.target.value)} data-testid="bullet-text-box"
      />
      {bullet && text !== bullet.text && <div className="learn-text"><TextDiff before={bullet.text} after={text} /></div>}
      <label htmlFor={`${id}-scope`} className="quiet">{strings.bulletScope}</label>
      <Input
        id={`${id}-scope`} value={scope} readOnly={isPending} maxLength={maxScopeLength} placeholder={strings.bulletScopeHint}
        onChange={(event) => limit(event.target.value)} data-testid="bullet-scope-box"
      />
      <label htmlFor={`${id}-section`} className="quiet">{strings.bulletSection}</label>
      <Select
        id={`${id}-section`} value={section} onChange={choose} disabled={isPending} className="wide"
        options={Object.entries(strings.sections).map(([value, label]) => ({ value, label }))}
      />
      <Problem error={error} />
      <div className="button-bar">
        <Button type="primary" htmlType="submit" loading={isPending} disabled={!isChanged} data-testid="save-bullet">{strings.saveBullet}</Button>
        <Button disabled={isPending} onClick={onDone}>{strings.back}</Button>
      </div>
    </form>
  );
}
