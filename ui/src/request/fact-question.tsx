import { Alert, Radio } from "antd";
import { useId, useRef, useState } from "react";
import { useRequestStrings } from "../strings/detail";
import { useKeys } from "../base/keys";
import { choicesOf, factOf, seedOf, type Fact } from "./fact";
import type { Request } from "../api/types";
import type { Values } from "../form/values";

/** The answer to the question of fact before a call that cannot be undone. */
export interface FactState {
  fact: Fact | null;
  choices: string[];
  chosen: string | null;
  choose: (value: string) => void;
  /** True after a wrong answer, until the next choice. */
  isWrong: boolean;
  /** Return whether the answer is right; a wrong one is cleared, and the choices come in another order. */
  check: () => boolean;
  clear: () => void;
}

export function useFact(request: Request, args: Values): FactState {
  const [chosen, setChosen] = useState<string | null>(null);
  const [wrongAnswers, setWrongAnswers] = useState(0);
  const [isWrong, setIsWrong] = useState(false);
  const fact = factOf(request, args);
  const choose = (value: string | null) => {
    setChosen(value);
    setIsWrong(false);
  };
  const check = () => {
    if (fact === null || chosen === fact.right) return true;
    setChosen(null);
    setWrongAnswers(wrongAnswers + 1);
    setIsWrong(true);
    return false;
  };
  return { fact, choices: fact ? choicesOf(fact, seedOf(request) + wrongAnswers) : [], chosen, choose, isWrong, check, clear: () => choose(null) };
}

/** Ask what the call does; who has not read it cannot answer. */
export function FactQuestion({ state, isLocked }: { state: FactState; isLocked: boolean }) {
  const strings = useRequestStrings();
  const { stakes } = strings;
  const { fact, choices, chosen, choose, isWrong } = state;
  const id = useId();
  const area = useRef<HTMLFieldSetElement>(null);
  const shown = (value: string) => (fact?.subject === "kind" ? strings.kinds[value as Request["kind"]] : value);
  const chooseAt = (index: number, value: string) => {
    choose(value);
    area.current?.querySelectorAll("input")[index]?.focus();
  };
  useKeys(stakes.keysOfQuestion, fact && !isLocked
    ? choices.map((value, index) => ({ key: String(index + 1), label: shown(value), run: () => chooseAt(index, value), once: true })) : []);
  if (!fact) return null;
  return (
    <fieldset ref={area} className="fact-question" data-testid="fact-question" aria-describedby={isWrong ? `${id}-wrong` : undefined}>
      <legend id={id}>{stakes.question[fact.subject](fact.name)}</legend>
      <Radio.Group
        aria-labelledby={id} vertical disabled={isLocked} value={chosen} onChange={({ target }) => choose(String(target.value))}
        options={choices.map((value, index) => ({
          value, label: <span data-testid={`fact-choice-${index + 1}`}><kbd className="key-hint" aria-hidden>{index + 1}</kbd><code>{shown(value)}</code></span>,
        }))}
      />
      <div aria-live="assertive" id={`${id}-wrong`}>
        {isWrong && <Alert type="error" showIcon role="presentation" title={stakes.wrongAnswer} data-testid="fact-wrong" />}
      </div>
    </fieldset>
  );
}
