import { Button, Checkbox, Select } from "antd";
import { useId } from "react";
import type { Json, Freedom } from "../api/types";
import { NumberInput } from "../form/number-input";
import { isUnread } from "../form/number-text";
import { useRequestStrings } from "../strings/detail";
import { visible } from "../base/visible";
import { KeyLabel } from "../base/key-label";
import { clientName, clientOf } from "./client";
import { GrantScope } from "./grant-scope";
import { folderOf, hoursOffered, initialGrant, namedArguments, scopeOf, type GrantChoice } from "./granting";
import type { DecisionFormState } from "./use-decision-form";

interface ChoiceProps {
  choice: GrantChoice;
  change: (change: Partial<GrantChoice>) => void;
  disabled: boolean;
}

/** What later calls may have for one argument. */
function ArgumentLimit({ name, value, choice, change, disabled }: ChoiceProps & { name: string; value: Json }) {
  const { granting } = useRequestStrings();
  const id = useId();
  const freedom = choice.freedoms[name] ?? "same";
  const freedoms: Freedom[] = typeof value === "number" ? ["same", "at-most", "any"] : ["same", "any"];
  return (
    <div className="grant-argument" data-testid={`grant-${name}`}>
      <label htmlFor={id}><code>{visible(name)}</code></label>
      <Select
        id={id} size="small" value={freedom} disabled={disabled} popupMatchSelectWidth={false}
        options={freedoms.map((each) => ({ value: each, label: granting.freedoms[each] }))}
        onChange={(selected) => change({ freedoms: { ...choice.freedoms, [name]: selected } })}
      />
      {freedom === "at-most" && typeof value === "number" && (
        <NumberInput
          size="small" value={choice.limits[name] ?? value} min={value} disabled={disabled} aria={{ "aria-label": `${visible(name)}: ${granting.freedoms["at-most"]}` }}
          onChange={(limit) => change({ limits: { ...choice.limits, [name]: limit ?? { unread: "" } } })}
        />
      )}
    </div>
  );
}

function Limits({ choice, change, disabled }: ChoiceProps) {
  const { granting } = useRequestStrings();
  const [until, uses] = [useId(), useId()];
  return (
    <div className="grant-limits">
      <label htmlFor={until}>{granting.until}</label>
      <Select
        id={until} size="small" value={choice.hours} disabled={disabled} data-testid="grant-until" popupMatchSelectWidth={false}
        options={hoursOffered.map((hours) => ({ value: hours, label: granting.hours(hours) }))} onChange={(hours) => change({ hours })}
      />
      <label htmlFor={uses}>{granting.maxUses}</label>
      <NumberInput
        id={uses} size="small" min={1} max={10_000} isWhole value={choice.maxUses} disabled={disabled} testId="grant-uses"
        onChange={(maxUses) => change({ maxUses: maxUses ?? { unread: "" } })}
      />
    </div>
  );
}

/** Approve the call together with later calls, within limits that the person chooses. */
export function GrantStep({ form }: { form: DecisionFormState }) {
  const strings = useRequestStrings();
  const { granting } = strings;
  const { request, draft, isLocked, isReady } = form;
  const choice = draft.grant ?? initialGrant(request);
  const folder = folderOf(request);
  const tool = visible(request.action?.name ?? "");
  const client = choice.isForSession ? clientOf(request) : undefined;
  const parts = { choice, disabled: isLocked, change: (changes: Partial<GrantChoice>) => form.change({ grant: { ...choice, ...changes } }) };
  return (
    <>
      <fieldset className="grant" data-testid="grant" data-session={client !== undefined}>
        <legend>{client === undefined ? granting.title(tool) : granting.sessionTitle(tool, visible(clientName(client)))}</legend>
        <p className="quiet">{granting.hint}</p>
        {namedArguments(request).map(([name, value]) => <ArgumentLimit key={name} {...parts} name={name} value={value} />)}
        {client === undefined && request.thread_id !== null && (
          <Checkbox checked={choice.onlyThread} disabled={isLocked} onChange={(event) => parts.change({ onlyThread: event.target.checked })} data-testid="grant-thread">
            {granting.onlyThread}
          </Checkbox>
        )}
        {client === undefined && folder !== undefined && (
          <Checkbox checked={choice.onlyFolder} disabled={isLocked} onChange={(event) => parts.change({ onlyFolder: event.target.checked })} data-testid="grant-folder">
            {granting.onlyFolder} <code>{visible(folder)}</code>
          </Checkbox>
        )}
        <Limits {...parts} />
        <div data-testid="grant-words" aria-live="polite">
          {isUnread(choice.maxUses) || granting.words(granting.hours(choice.hours), choice.maxUses)}
          <GrantScope scope={scopeOf(request, choice)} isThisSession={client !== undefined} />
        </div>
      </fieldset>
      <div className="button-bar">
        <Button type="primary" disabled={!isReady || isLocked} loading={form.decision.sending === "approve"} onClick={form.confirm} data-testid="confirm-grant">
          <KeyLabel label={granting.confirm} keyName="↵" />
        </Button>
        <Button onClick={form.back} disabled={form.decision.sending !== null} data-testid="back-to-decision" aria-keyshortcuts="Escape">
          <KeyLabel label={strings.backToDecision} keyName="esc" />
        </Button>
      </div>
    </>
  );
}
