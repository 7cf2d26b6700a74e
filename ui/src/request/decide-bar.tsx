import { Button } from "antd";
import type { ReactNode } from "react";
import type { ActionLook, Decision, Request } from "../api/types";
import { visible } from "../widgets/visible";
import { asksBack, isChanged } from "./draft";
import type { Desk } from "./use-desk";
import { offered, sentBy } from "./plain";
import { editableOf } from "./values";
import { useWords, type Words } from "./words";

export const decideKeys: Record<Decision, string> = { approve: "a", edit: "e", reject: "r", respond: "d" };

/** What a button says, and the key that does the same. */
export function Labelled({ label, keyName }: { label: string; keyName: string }) {
  return <span>{label}<kbd className="key" aria-hidden>{keyName}</kbd></span>;
}

interface DecideButtonProps {
  desk: Desk;
  decision: Decision;
  testId: string;
  label: string;
  keyName: string;
  solid?: boolean;
  disabled?: boolean;
  title?: string | undefined;
  onClick: () => void;
}

function look(decision: Decision, style: ActionLook["style"], solid: boolean) {
  // A no is never drawn as the button to press.
  const danger = style === "danger" || (decision === "reject" && (!style || style === "primary"));
  if (danger) return { danger, type: solid ? "primary" : "default" } as const;
  const primary = style ? style === "primary" : decision === "approve" || decision === "respond";
  return { type: primary || solid ? "primary" : "default" } as const;
}

/** One decision's button, with the label and style that the request gives it. */
export function DecideButton(props: DecideButtonProps) {
  const { desk, decision, testId, label, keyName, solid = false, disabled = false, title, onClick } = props;
  const strings = useWords();
  const { sending } = desk.decision;
  const mine = sending === decision;
  const isBeside = decision === "respond" && asksBack(desk.request) && !solid;
  const style = desk.request.actions?.[decision]?.style ?? (isBeside ? "default" : null);
  return (
    <Button
      {...look(decision, style, solid)}
      data-testid={testId}
      title={desk.hindrance ?? title}
      aria-keyshortcuts={keyName}
      loading={mine}
      disabled={disabled || desk.dead || desk.hindrance !== null || (sending !== null && !mine)}
      // Whoever still holds the key that led here has not decided.
      onKeyDown={(event) => event.repeat && event.preventDefault()}
      // The next request may open under the pointer: the second half of a double-click must not decide it.
      onClick={(event) => event.detail < 2 && onClick()}
    >
      {mine ? strings.sending : <Labelled label={label} keyName={keyName} />}
    </Button>
  );
}

function ownWord(request: Request, decision: Decision, strings: Words): string {
  if (request.kind === "finish") return strings.finishDecisions[decision];
  return decision === "respond" && asksBack(request) ? strings.askBack : strings.decisions[decision];
}

const short = (text: string) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** What a decision is called: by our own word, so that no agent's label hides what it does, and by that label. */
export function labelOf(request: Request, decision: Decision, strings: Words): string {
  const sent = sentBy(request, decision);
  // The button says what the agent's code receives: a no to one agent is data to another.
  if (sent !== undefined) return `${strings.decisions[decision]} → ${short(visible(JSON.stringify(sent)))}`;
  const own = ownWord(request, decision, strings);
  const given = visible(request.actions?.[decision]?.label ?? "").trim();
  return given === "" || given.toLowerCase() === own.toLowerCase() ? own : strings.calledByAgent(own, given);
}

/** The decisions side by side, and beside them what is no decision. */
export function DecideBar({ desk, children }: { desk: Desk; children: ReactNode }) {
  const strings = useWords();
  const { request } = desk;
  const waitsForChange = !editableOf(request) && !isChanged(request, desk.draft);
  const buttons = offered(request).map((decision) => (
    <DecideButton
      key={decision}
      desk={desk}
      decision={decision}
      testId={`decide-${decision}`}
      label={labelOf(request, decision, strings)}
      keyName={decideKeys[decision]}
      disabled={decision === "edit" && waitsForChange}
      title={decision === "edit" && waitsForChange ? strings.editNeedsChange : undefined}
      onClick={() => desk.start(decision)}
    />
  ));
  return (
    <div className="bar">
      {buttons.slice(0, -1)}
      {/* On a phone what is no decision stands beside the last one, never in a row of its own. */}
      <div className="bar-end">{buttons.slice(-1)}{children}</div>
    </div>
  );
}
