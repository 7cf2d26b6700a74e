import { Button, Flex, Input, Select } from "antd";
import { useEffect, useId, useRef, useState } from "react";
import { usePause, usePauses, useResume } from "../api/pauses";
import { useAgents } from "../api/threads";
import type { Pause } from "../api/types";
import { PauseLine } from "../pauses/pause-alert";
import { useStrings } from "../strings";
import { useKeys } from "../base/keys";
import { MomentInput } from "../widgets/moment-input";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";

/** The confirmation before agents are paused: which, why and until when. */
function PauseForm({ onBack }: { onBack: () => void }) {
  const strings = useStrings();
  const { pauses } = strings;
  const id = useId();
  const agents = useAgents().data?.items ?? [];
  const pause = usePause();
  const [agent, setAgent] = useState("");
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState<string>();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.querySelector("textarea")?.focus(), []);
  const isReady = reason.trim() !== "";
  const confirm = () => {
    if (isReady && !pause.isPending) pause.mutate({ agent: agent || null, reason: reason.trim(), until: until ?? null }, { onSuccess: onBack });
  };
  useKeys(pauses.pauseTitle, [
    { key: "mod+Enter", label: pauses.confirmKey, run: confirm, whileTyping: true, once: true },
    { key: "Escape", label: pauses.back, run: onBack, whileTyping: true },
  ]);
  return (
    <section ref={panel} className="confirm-stop" aria-label={pauses.pauseTitle} data-testid="pause-form">
      <strong>{pauses.pauseTitle}</strong>
      <p>{pauses.consequence}</p>
      <label htmlFor={`${id}-agent`}>{strings.agent}</label>
      <Select
        id={`${id}-agent`} value={agent} onChange={setAgent} data-testid="pause-agent" className="wide" showSearch={{ optionFilterProp: "label" }}
        options={[{ value: "", label: pauses.every }, ...agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))]}
      />
      <label htmlFor={`${id}-reason`}>{pauses.reason}</label>
      <Input.TextArea
        id={`${id}-reason`} value={reason} required maxLength={2_000} autoSize={{ minRows: 2, maxRows: 6 }} data-testid="pause-reason"
        onChange={(event) => setReason(event.target.value)}
      />
      <label htmlFor={`${id}-until`}>{pauses.until}</label>
      <MomentInput id={`${id}-until`} onChange={setUntil} testId="pause-until" />
      <Problem error={pause.error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" disabled={!isReady} loading={pause.isPending} onClick={confirm} data-testid="confirm-pause">
          {agent ? pauses.confirmOne(visible(agent)) : pauses.confirmAll}
        </Button>
        <Button onClick={onBack} disabled={pause.isPending} data-testid="keep-running">{pauses.back}</Button>
      </Flex>
    </section>
  );
}

/** One pause in force; an administrator ends it after a confirmation. */
function PauseItem({ pause, isAdmin }: { pause: Pause; isAdmin: boolean }) {
  const { pauses } = useStrings();
  const resume = useResume();
  const [isConfirming, setConfirming] = useState(false);
  return (
    <li data-testid="pause" data-agent={pause.agent ?? ""}>
      <div><PauseLine pause={pause} /></div>
      <Problem error={resume.error} />
      {isAdmin && !isConfirming && <Button size="small" onClick={() => setConfirming(true)} data-testid="end-pause">{pauses.end}</Button>}
      {isConfirming && (
        <section className="confirm-stop" aria-label={pauses.endTitle}>
          <p>{pauses.endTitle}</p>
          <Flex gap="small" wrap>
            <Button type="primary" loading={resume.isPending} onClick={() => resume.mutate(pause)} data-testid="confirm-end-pause">{pauses.confirmEnd}</Button>
            <Button autoFocus onClick={() => setConfirming(false)} data-testid="keep-pause">{pauses.keep}</Button>
          </Flex>
        </section>
      )}
    </li>
  );
}

/** The pauses in force, and the form that pauses agents. */
export function Pauses({ isAdmin }: { isAdmin: boolean }) {
  const { pauses: strings } = useStrings();
  const pauses = usePauses();
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    setTimeout(() => opener.current?.focus());
  };
  useKeys(strings.title, isAdmin && !isOpen ? [{ key: "p", label: strings.open, run: () => setOpen(true), once: true }] : []);
  if (!isAdmin && pauses.length === 0) return null;
  return (
    <section className="pause-section" aria-label={strings.title}>
      <Flex gap="small" wrap align="center" justify="space-between">
        <h2>{strings.title}</h2>
        {isAdmin && !isOpen && <Button danger ref={opener} onClick={() => setOpen(true)} data-testid="open-pause">{strings.open}</Button>}
      </Flex>
      {isOpen && <PauseForm onBack={close} />}
      {pauses.length === 0 && !isOpen && <p className="quiet">{strings.none}</p>}
      {pauses.length > 0 && <ul className="pause-list">{pauses.map((pause) => <PauseItem key={pause.id} pause={pause} isAdmin={isAdmin} />)}</ul>}
    </section>
  );
}
