import { Button, Dropdown } from "antd";
import { useRequestStrings } from "../strings/detail";
import { useNarrow } from "../base/browser";
import { clock } from "../widgets/time";
import { type ClaimState, needsVotes } from "./assignment";
import { KeyLabel } from "../base/keys";
import type { DecisionFormState } from "./use-decision-form";

interface ClaimControlsProps {
  form: DecisionFormState;
  claim: ClaimState;
}

/** On a phone, one button beside the decisions opens a menu. */
function ClaimMenu({ form, claim }: ClaimControlsProps) {
  const strings = useRequestStrings();
  const { claimant, pendingVerb } = claim;
  const until = claimant?.until && { key: "until", label: strings.ownClaimNotice(clock(claimant.until, strings.language)), disabled: true };
  const items = [
    ...(until ? [until] : []),
    !needsVotes(form.request) && (claimant
      ? { key: "release", label: strings.release, onClick: claim.release, "data-testid": "release" }
      : { key: "claim", label: strings.claim, onClick: claim.claim, "data-testid": "claim" }),
    form.canGrant && { key: "grant", label: strings.granting.open, onClick: () => form.startGrant(false), "data-testid": "open-grant" },
    { key: "pass", label: strings.reassign, onClick: () => form.change({ mode: "reassigning" }), "data-testid": "reassign" },
  ].filter((item) => item !== false);
  return (
    <Dropdown menu={{ items }} trigger={["click"]} placement="topRight" autoFocus disabled={form.isLocked}>
      <Button className="more-actions" aria-label={strings.moreActions} title={strings.moreActions} loading={pendingVerb !== null} data-testid="more-actions">
        <span aria-hidden>⋯</span>
      </Button>
    </Dropdown>
  );
}

function ClaimButtons({ form, claim }: ClaimControlsProps) {
  const strings = useRequestStrings();
  const { claimant, pendingVerb } = claim;
  const common = { type: "text", disabled: form.isLocked } as const;
  const { language } = strings;
  return (
    <div className="claim-controls">
      {claimant?.until && (
        <span className="quiet" data-testid="claimed-by-you">{strings.ownClaimNotice(clock(claimant.until, language))}</span>
      )}
      {needsVotes(form.request) ? null : claimant ? (
        <Button
          {...common} loading={pendingVerb === "release"} onClick={claim.release} aria-keyshortcuts="u" data-testid="release"
        >
          <KeyLabel label={strings.release} keyName="u" />
        </Button>
      ) : (
        <Button {...common} loading={pendingVerb === "claim"} onClick={claim.claim} data-testid="claim" aria-keyshortcuts="c">
          <KeyLabel label={strings.claim} keyName="c" />
        </Button>
      )}
      <Button {...common} onClick={() => form.change({ mode: "reassigning" })} data-testid="reassign">
        {strings.reassign}
      </Button>
      {form.canGrant && (
        <Button {...common} onClick={() => form.startGrant(false)} data-testid="open-grant">{strings.granting.open}</Button>
      )}
    </div>
  );
}

/** Claim, release and reassign: the actions that are not decisions. */
export function ClaimControls({ form, claim }: ClaimControlsProps) {
  const isNarrow = useNarrow();
  if (form.isClosed || form.blockedReason !== null) return null;
  return isNarrow ? <ClaimMenu form={form} claim={claim} /> : <ClaimButtons form={form} claim={claim} />;
}
