import { useState } from "react";

interface Selectable {
  id: string;
  /** The requests of the row that can be selected. */
  ids: readonly string[];
}

export interface Selection {
  ids: ReadonlySet<string>;
  toggle: (id: string, ids?: readonly string[]) => void;
  /** Select the range from the last touched row to this one. */
  extend: (rows: readonly Selectable[], id: string) => void;
  set: (ids: Iterable<string>) => void;
}

interface State {
  ids: ReadonlySet<string>;
  anchor?: string;
  /** The selection before a range started; a smaller range restores the rest. */
  base: ReadonlySet<string>;
}

const nothing: State = { ids: new Set(), base: new Set() };

/** Return the ids of what can be selected between two rows, both included. */
export function idsBetween(rows: readonly Selectable[], one: string, other: string): string[] {
  const [a, b] = [one, other].map((id) => rows.findIndex((row) => row.id === id)).sort((x, y) => x - y);
  if (a === undefined || b === undefined || a < 0) return [];
  return rows.slice(a, b + 1).flatMap((row) => row.ids);
}

/** Select or unselect a row with all its requests. */
export function toggle({ ids }: State, id: string, members: readonly string[] = [id]): State {
  const base = ids.has(id) ? new Set([...ids].filter((each) => each !== id && !members.includes(each))) : new Set([...ids, ...members]);
  return { ids: base, base, anchor: id };
}

export function extend({ anchor, base }: State, rows: readonly Selectable[], id: string): State {
  return { ids: new Set([...base, ...idsBetween(rows, anchor ?? id, id)]), base, anchor: anchor ?? id };
}

/** The selected rows of a list; another list starts with none. */
export function useSelection(list: string): Selection {
  const [state, setState] = useState(nothing);
  const [of, setOf] = useState(list);
  if (of !== list) {
    setOf(list);
    setState(nothing);
  }
  return {
    ids: state.ids,
    toggle: (id, ids) => setState((old) => toggle(old, id, ids)),
    extend: (rows, id) => setState((old) => extend(old, rows, id)),
    set: (ids) => setState({ ids: new Set(ids), base: new Set(ids) }),
  };
}
