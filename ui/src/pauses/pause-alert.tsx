import { Alert } from "antd";
import { useSession } from "../api/session";
import type { Pause } from "../api/types";
import { useStrings } from "../strings";
import { Link } from "../base/router";
import { PauseLine } from "./pause-line";

export interface PauseAlertProps {
  pauses: Pause[];
  /** True above a list, where the alert has the full width. */
  banner?: boolean;
}

/** The pauses in force: which agents wait, who paused them and why. */
export default function PauseAlert({ pauses, banner = false }: PauseAlertProps) {
  const strings = useStrings();
  const isAdmin = useSession().data?.role === "admin";
  return (
    <Alert
      type="warning" showIcon banner={banner} className="pauses" data-testid="pauses"
      title={(
        <div className="text-lines">
          {pauses.map((pause) => (
            <div key={pause.id} data-testid="pause-alert" data-agent={pause.agent ?? ""}>
              <PauseLine pause={pause} />
            </div>
          ))}
          <span>{strings.pauses.effect} {isAdmin && <Link to="/operations">{strings.pauses.manage}</Link>}</span>
        </div>
      )}
    />
  );
}
