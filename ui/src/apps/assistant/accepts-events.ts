import { isObject, type Agent } from "../../api/types";

/** Tell whether an agent may be an assistant: its input accepts events. The server decides. */
export const acceptsEvents = ({ input_schema: { properties } }: Agent) => isObject(properties) && "event" in properties;
