import { useEffect, useRef, type RefObject } from "react";
import type { Decision, Request } from "../api/types";
import { AgentWords } from "./agent-words";
import { AnswerArea } from "./answer-area";
import { DecideBar } from "./decide-bar";
import { hasAnswer, type Draft, type Mode } from "./draft";
import { Facts, type Editing } from "./facts";
import { FoldedFacts } from "./folded-facts";
import { Hold } from "./hold";
import { useHolding, type Holding } from "./holding";
import { PassOn } from "./pass-on";
import { Said } from "./said";
import { AskStep, EditStep, NameStep, RejectStep } from "./steps";
import { useDesk, type Desk } from "./use-desk";
import { useRequestKeys } from "./use-request-keys";

type Area = RefObject<HTMLDivElement | null>;

const operable = ":is(input, textarea, button, [tabindex='0']):not([disabled])";

function focusOn(area: Area, selector: string): void {
  const found = area.current?.querySelector<HTMLElement>(selector);
  found?.focus();
  if (found instanceof HTMLInputElement) found.select();
}

/** After a refusal the first field that is wrong gets the focus. */
function useFocusOnRefusal(area: Area, refusals: number): void {
  useEffect(() => {
    if (refusals > 0) focusOn(area, `[data-invalid="true"] ${operable}`);
  }, [area, refusals]);
}

const firstOf: Record<Mode, string> = {
  deciding: "",
  editing: `.value-editor ${operable}`,
  rejecting: ".chips [role=checkbox]",
  asking: ".decide textarea",
  naming: ".decide input",
  passing: ".decide input",
};
const openerOf: Partial<Record<Mode, string>> = {
  editing: "[data-testid=decide-edit]", rejecting: "[data-testid=decide-reject]", asking: "[data-testid=decide-respond]",
  naming: "[data-testid=decide-approve]", passing: "[data-testid=pass-on], [data-testid=more-actions]",
};

/** A step takes the focus to its first thing, and gives it back to the button that opened it. */
function useStepFocus(area: Area, mode: Mode): void {
  const before = useRef(mode);
  useEffect(() => {
    if (before.current === mode) return;
    focusOn(area, firstOf[mode] || `:is(${openerOf[before.current] ?? ""})`);
    before.current = mode;
  }, [area, mode]);
}

/** Open the step of a decision that was made before the request was there. */
function useBegun({ start }: Desk, begins: Decision | undefined): void {
  const begun = useRef(false);
  useEffect(() => {
    if (begins === undefined || begun.current) return;
    begun.current = true;
    start(begins);
  }, [start, begins]);
}

interface StepProps {
  desk: Desk;
  holding: Holding;
  area: Area;
  onGone: (names: string) => void;
}

function Step({ desk, holding, area, onGone }: StepProps) {
  switch (desk.draft.mode) {
    case "editing": return <EditStep desk={desk} />;
    case "rejecting": return <RejectStep desk={desk} focusText={() => focusOn(area, ".decide textarea")} />;
    case "asking": return <AskStep desk={desk} />;
    case "naming": return <NameStep desk={desk} />;
    case "passing": return <PassOn desk={desk} onGone={onGone} />;
    case "deciding": return <DecideBar desk={desk}><Hold desk={desk} holding={holding} /></DecideBar>;
  }
}

function editingOf({ draft, change, decision, frozen, confirm }: Desk): Editing | undefined {
  if (draft.mode !== "editing") return undefined;
  const onChange = (changes: Partial<Draft>, changed: string) => {
    change(changes);
    decision.mended(changed);
  };
  return { draft, onChange, onEnter: confirm, problems: decision.problems, disabled: frozen };
}

interface OpenRequestProps {
  request: Request;
  onDecided: (completed: Request) => void;
  onGone: (names: string) => void;
  /** Whether the keys are meant for it. */
  active: boolean;
  /** Begin where something is to be filled in. */
  beginsInFields: boolean;
  /** The decision whose step is open at once. */
  begins: Decision | undefined;
  /** What it would do is shown in other words beside it. */
  foldsFacts: boolean;
}

/** A request that can be decided here, or could be until it ended elsewhere: then it stays, with what was typed. */
export function OpenRequest({ request, onDecided, onGone, active, beginsInFields, begins, foldsFacts }: OpenRequestProps) {
  const area = useRef<HTMLDivElement>(null);
  const desk = useDesk(request, onDecided);
  const holding = useHolding(request);
  const { draft, decision } = desk;
  useEffect(() => {
    if (beginsInFields) area.current?.querySelector<HTMLElement>(`.answer ${operable}`)?.focus({ preventScroll: true });
  }, [beginsInFields]);
  useBegun(desk, begins);
  useFocusOnRefusal(area, decision.refusals);
  useStepFocus(area, draft.mode);
  useRequestKeys(desk, holding, {
    active,
    focusFirst: hasAnswer(request) ? () => focusOn(area, `.answer ${operable}`) : null,
    leaveText: () => area.current?.closest("article")?.querySelector("h2")?.focus(),
  });

  return (
    <div ref={area} className="open" data-mode={draft.mode} aria-busy={decision.sending !== null}>
      <FoldedFacts request={request} folded={foldsFacts && draft.mode !== "editing"}>
        <Facts request={request} editing={editingOf(desk)} />
        <AgentWords request={request} />
      </FoldedFacts>
      <AnswerArea desk={desk} />
      <footer className="decide" data-testid="decide">
        <Step desk={desk} holding={holding} area={area} onGone={onGone} />
        <Said desk={desk} holding={holding} />
      </footer>
    </div>
  );
}
