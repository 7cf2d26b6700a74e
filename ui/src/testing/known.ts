/** What a test knows of a reply of the server: a field that the reply gains changes no test. */
export type Known<T> = T extends readonly (infer Entry)[] ? Known<Entry>[] : T extends object ? { [Name in keyof T]?: Known<T[Name]> } : T;

/** Return a reply of which a test knows only a part. */
export const known = <T>(part: Known<T>) => part as T;
