import { Button, Flex } from "antd";
import { visible } from "../base/visible";
import { useAssistantStrings } from "../strings/assistant";
import type { Plan } from "./types";
import { Value } from "./value";

interface DefaultsProps {
  plan: Plan;
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
}

/** The defaults that a plan is made from, each with a button to tell another value. */
export function PlanDefaults({ plan: { defaults }, pendingCommand, runCommand }: DefaultsProps) {
  const strings = useAssistantStrings();
  if (defaults.length === 0) return null;
  return (
    <section aria-label={strings.planDefaults} data-testid="plan-defaults">
      <strong>{strings.planDefaults}</strong>
      <ul className="plan-changes">
        {defaults.map(({ key, title, value }) => (
          <li key={key}>
            <Flex gap="small" align="center" wrap>
              <span>{visible(title || key)}:</span> <Value value={value} />
              <Button
                size="small" disabled={pendingCommand !== undefined} loading={pendingCommand === `ask:${key}`} onClick={() => runCommand(`ask:${key}`)}
                data-testid="change-default" aria-label={`${strings.changeValue}: ${visible(title || key)}`}
              >
                {strings.changeValue}
              </Button>
            </Flex>
          </li>
        ))}
      </ul>
    </section>
  );
}
