import { createContext, useContext } from "react";
import { en, type Strings } from "./en";

export type { Strings };

export const StringsContext = createContext<Strings>(en);

export const useStrings = () => useContext(StringsContext);
