import { Button } from "antd";
import { clock } from "../widgets/time";
import { Labelled } from "./decide-bar";
import type { Holding } from "./holding";
import type { Desk } from "./use-desk";
import { useWords } from "./words";

/** What is no decision: keep the request for oneself, let it go, or pass it on. */
export function Hold({ desk, holding }: { desk: Desk; holding: Holding }) {
  const strings = useWords();
  const { holder, claim, release, moving } = holding;
  if (desk.dead || desk.hindrance !== null) return null;
  const common = { type: "text", disabled: desk.frozen } as const;
  const { language } = strings;
  return (
    <div className="hold">
      {holder?.until && (
        <span className="quiet" data-testid="held-by-you">{strings.heldByYou(clock(holder.until, language))}</span>
      )}
      {holder ? (
        <Button
          {...common} loading={moving === "release"} onClick={release} aria-keyshortcuts="u" data-testid="release"
        >
          <Labelled label={strings.release} keyName="u" />
        </Button>
      ) : (
        <Button {...common} loading={moving === "claim"} onClick={claim} data-testid="claim" aria-keyshortcuts="c">
          <Labelled label={strings.claim} keyName="c" />
        </Button>
      )}
      <Button {...common} onClick={() => desk.change({ mode: "passing" })} data-testid="pass-on">
        {strings.passOn}
      </Button>
    </div>
  );
}
