import { Fragment, type ReactNode } from "react";
import type { Action, Json, Request } from "../api/types";
import { isEqual } from "../api/json";
import type { Values } from "../form/values";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { MarkedText } from "../widgets/agent-text";
import { visible, visibleJson } from "../base/visible";
import { cardWith, declaredCard, quantity, type DeclaredCard } from "./card";
import { mainArguments } from "./main-arguments";

const maxValueLength = 60;

const written = (value: Json | undefined) => (typeof value === "string" ? visible(value) : visibleJson(value));

/** A value of the call: never to be taken for words of the page. */
function Value({ value }: { value: Json }) {
  const text = written(value);
  return <code className="effect-value"><MarkedText text={text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text} /></code>;
}

function Amount({ amount, unit, language }: { amount: Json; unit: string | undefined; language: string }) {
  if (typeof amount === "number") return <strong>{visible(quantity(amount, unit, language))}</strong>;
  return <><Value value={amount} />{unit && ` ${visible(unit)}`}</>;
}

/** Return the parts of the line by name; a part that the card does not have is absent. */
function partsOf(card: DeclaredCard, { stakes, language }: RequestStrings): Record<string, ReactNode> {
  const { effect, amount, unit, target, reversible, limit } = card;
  const path = visible(card.arguments?.target ?? "").replace(/[._]id$/i, "");
  return {
    ...(effect !== undefined && { effect: <strong><MarkedText text={visible(effect)} /></strong> }),
    ...(amount !== undefined && { amount: <Amount amount={amount} unit={unit} language={language} /> }),
    ...(target !== undefined && { target: <>{stakes.target(path)} <Value value={target} /></> }),
    ...(reversible !== undefined && { reversible: <span className="effect-note">{stakes.reversible(typeof reversible === "string" ? visible(reversible) : reversible)}</span> }),
    ...(card.above_limit && limit !== undefined && { limit: <span className="effect-note above-limit">{stakes.aboveLimit(visible(quantity(limit, unit, language)))}</span> }),
  };
}

/** The parts in which the edited call differs are shown before and after the edit. */
function isChanged(name: string, before: DeclaredCard, after: DeclaredCard): boolean {
  const key = ({ amount: "amount", target: "target", limit: "above_limit" } as const)[name];
  return key !== undefined && JSON.stringify(before[key]) !== JSON.stringify(after[key]);
}

/** The call itself, where nobody declares its effect: its tool and its main arguments. */
function CallLine({ action: { name: tool, args }, edited }: { action: Action; edited: Values | undefined }) {
  const scalars = Object.fromEntries(Object.entries(args).filter(([, value]) => typeof value !== "object"));
  const [parts, isAll] = mainArguments(scalars, written);
  const isWhole = isAll && Object.keys(scalars).length === Object.keys(args).length;
  const change = (name: string, text: string) => {
    const [before = null, after = null] = [args[name], edited?.[name]];
    return edited && !isEqual(before, after) ? <><del><Value value={before} /></del> → <ins><Value value={after} /></ins></> : <code className="effect-value"><MarkedText text={text} /></code>;
  };
  return (
    <p className="effect-call" data-testid="effect-call">
      <code>{visible(tool)}</code>
      {parts.map(({ name, text }) => <Fragment key={name}> · <span className="quiet">{visible(name)}</span> {change(name, text)}</Fragment>)}
      {!isWhole && " · …"}
    </p>
  );
}

/** What the call does, as the author of its tool declares it, and with a person's edit; without a declaration the call itself. */
export function EffectLine({ request, edited }: { request: Request; edited: Values | undefined }) {
  const strings = useRequestStrings();
  const declared = declaredCard(request);
  if (!request.action) return null;
  if (!declared) {
    return (
      <div>
        <CallLine action={request.action} edited={edited} />
        <p className="quiet" data-testid="effect" data-declared={false}>{strings.stakes.notDeclared}</p>
      </div>
    );
  }
  const card = edited ? cardWith(declared, edited) : declared;
  const [before, after] = [partsOf(declared, strings), partsOf(card, strings)];
  const names = ["effect", "amount", "target", "reversible", "limit"].filter((name) => before[name] ?? after[name]);
  return (
    <p className="effect" data-testid="effect" data-declared>
      {names.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && " · "}
          {isChanged(name, declared, card)
            ? <>{before[name] && <del>{before[name]}</del>}{before[name] && after[name] && " → "}{after[name] && <ins>{after[name]}</ins>}</>
            : after[name]}
        </Fragment>
      ))}
    </p>
  );
}
