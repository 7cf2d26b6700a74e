import { Button, Dropdown } from "antd";
import { useNarrow } from "../widgets/media";
import { clock } from "../widgets/time";
import { Labelled } from "./decide-bar";
import type { Holding } from "./holding";
import type { Desk } from "./use-desk";
import { useWords } from "./words";

interface HoldProps {
  desk: Desk;
  holding: Holding;
}

/** On a phone it takes no row of its own: one button beside the decisions opens it. */
function HoldMenu({ desk, holding }: HoldProps) {
  const strings = useWords();
  const { holder, claim, release, moving } = holding;
  const until = holder?.until && { key: "until", label: strings.heldByYou(clock(holder.until, strings.language)), disabled: true };
  const items = [
    ...(until ? [until] : []),
    holder
      ? { key: "release", label: strings.release, onClick: release, "data-testid": "release" }
      : { key: "claim", label: strings.claim, onClick: claim, "data-testid": "claim" },
    { key: "pass", label: strings.passOn, onClick: () => desk.change({ mode: "passing" }), "data-testid": "pass-on" },
  ];
  return (
    <Dropdown menu={{ items }} trigger={["click"]} placement="topRight" autoFocus disabled={desk.frozen}>
      <Button className="more" aria-label={strings.moreActions} title={strings.moreActions} loading={moving !== null} data-testid="more-actions">
        <span aria-hidden>⋯</span>
      </Button>
    </Dropdown>
  );
}

function HoldButtons({ desk, holding }: HoldProps) {
  const strings = useWords();
  const { holder, claim, release, moving } = holding;
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

/** What is no decision: keep the request for oneself, let it go, or pass it on. */
export function Hold({ desk, holding }: HoldProps) {
  const isNarrow = useNarrow();
  if (desk.dead || desk.hindrance !== null) return null;
  return isNarrow ? <HoldMenu desk={desk} holding={holding} /> : <HoldButtons desk={desk} holding={holding} />;
}
