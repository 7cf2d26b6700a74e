import { createContext, useContext, type ComponentType } from "react";
import type keys from "../../../src/ringi/base/keys.json";
import type { Agent, Request } from "../api/types";
import type { Language } from "../strings/language";
import type { EditingState } from "./argument-editor";
import type { LearningProposal } from "./learning-proposal";

/** A page of an application, at `/NAME` and `/NAME/ID`. */
interface ApplicationPage {
  name: string;
  label: Record<Language, string>;
  /** The key that goes there from everywhere. */
  pageKey: string;
  /** The areas of the table of keys that it has. */
  keyAreas: (keyof typeof keys)[];
  Page: ComponentType<{ id: string | undefined }>;
}

export interface LearningFactsProps extends LearningProposal {
  request: Request;
  editing: EditingState | undefined;
}

/** One conversation with one agent. */
export interface ConversationProps {
  id: string;
  agent: Agent;
  isNew: boolean;
  /** The key of the unsent message; a chat without a URL has none of its own. */
  draftKey: string;
  onStart: () => void;
}

/** What an application adds to the page. Everything that it shows is loaded when it is needed. */
export interface Application {
  page?: ApplicationPage;
  /** The facts of a proposal to learn. */
  LearningFacts?: ComponentType<LearningFactsProps>;
  /** The conversation with its agents. */
  conversation?: { isWith: (agent: Agent) => boolean; View: ComponentType<ConversationProps> };
}

export const ApplicationsContext = createContext<readonly Application[]>([]);

export const useApplications = () => useContext(ApplicationsContext);

export const useApplicationPages = () => useApplications().flatMap(({ page }) => page ?? []);
