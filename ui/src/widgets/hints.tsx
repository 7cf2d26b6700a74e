import { Alert } from "antd";
import { useEffect, useEffectEvent } from "react";
import { useStrings } from "../strings";
import { useNarrow, usePreference } from "../base/browser";

const hintNames = ["open", "answer", "threads"] as const;
type HintName = (typeof hintNames)[number];

const preferenceName = "hints-gone";
const namesIn = (text: string | undefined) => (text ?? "").split(" ").filter(Boolean);

/** Return the hints of the first minutes that are left, and a function that removes one for good. */
export function useHints(): [HintName[], (name: HintName) => void] {
  const [gone, save] = usePreference(preferenceName);
  const left = hintNames.filter((name) => !namesIn(gone).includes(name));
  const remove = (name: HintName) => {
    if (left.includes(name)) save([...namesIn(gone), name].join(" "));
  };
  return [left, remove];
}

/** Remove a hint once the person does what it says. */
export function useHintOnce(name: HintName, isFollowed: boolean): void {
  const [, remove] = useHints();
  const follow = useEffectEvent(() => remove(name));
  useEffect(() => {
    if (isFollowed) follow();
  }, [isFollowed]);
}

/** What a person should know in the first minutes; a hint goes away once it is followed or closed. On a phone one at a time. */
export function Hints() {
  const strings = useStrings();
  const narrow = useNarrow();
  const [left, remove] = useHints();
  const visible = narrow ? left.slice(0, 1) : left;
  if (visible.length === 0) return null;
  return (
    <div className="inbox-hints" data-testid="hints">
      {visible.map((name) => (
        <Alert
          key={name} type="info" title={<><b>{strings.hints[name].title}</b> {strings.hints[name].text(narrow)}</>}
          closable={{ "aria-label": strings.closeHint, onClose: () => remove(name) }} data-testid={`hint-${name}`}
        />
      ))}
    </div>
  );
}
