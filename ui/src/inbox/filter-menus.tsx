import { Select } from "antd";
import type { Filters } from "../api/lists";
import { useStrings } from "../strings";
import { filter, kinds, priorities } from "./address";

interface FilterMenuProps<T extends string> {
  name: string;
  testId: string;
  chosen: T | undefined;
  names: Record<T, string>;
  known: readonly T[];
  onChoose: (chosen: T | undefined) => void;
}

function FilterMenu<T extends string>({ name, testId, chosen, names, known, onChoose }: FilterMenuProps<T>) {
  return (
    <Select<string>
      size="small" variant={chosen ? "filled" : "borderless"} allowClear aria-label={name} placeholder={name} data-testid={testId}
      value={chosen} popupMatchSelectWidth={false} options={known.map((value) => ({ value, label: names[value] }))}
      onChange={(value: string | undefined) => onChoose(known.find((each) => each === value))}
    />
  );
}

/** Narrow the list by kind and by priority. */
export default function FilterMenus({ filters }: { filters: Filters }) {
  const strings = useStrings();
  return (
    <>
      <FilterMenu
        name={strings.kindFilter} testId="filter-kind" chosen={filters.kind} names={strings.kinds} known={kinds}
        onChoose={(kind) => filter({ ...filters, kind })}
      />
      <FilterMenu
        name={strings.priorityFilter} testId="filter-priority" chosen={filters.priority} names={strings.priorities} known={priorities}
        onChoose={(priority) => filter({ ...filters, priority })}
      />
    </>
  );
}
