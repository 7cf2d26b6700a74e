import type { Companion } from "../../chat/bubbles";
import { ConversationView, focusMessage } from "../../chat/conversation-view";
import { useConversation } from "../../chat/use-conversation";
import type { ConversationProps } from "../../request/applications";
import { ActionBar } from "./action-bar";
import { useAssistant } from "./use-assistant";
import { Workflow, WorkflowsContext } from "./workflow";

const showWorkflow: Companion["showWorkflow"] = (run, onDecided) => <Workflow run={run} onDecided={onDecided} />;

/** One conversation with an assistant: with the cards of its plans, its workflows, and what it can do now. */
export default function AssistantConversation(props: ConversationProps) {
  const { id, agent, isNew, onStart } = props;
  const conversation = useConversation(id, agent.name, isNew);
  const assistant = useAssistant(conversation, id, agent, onStart, focusMessage);
  const companion = {
    asides: assistant?.asides ?? [],
    cardTexts: assistant?.cardTexts,
    showWorkflow,
    bar: assistant && <ActionBar assistant={assistant} id={id} />,
  };
  return <WorkflowsContext value={assistant}><ConversationView {...props} conversation={conversation} companion={companion} /></WorkflowsContext>;
}
