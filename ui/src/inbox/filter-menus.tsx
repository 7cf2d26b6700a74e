import { Select } from "antd";
import type { Filters } from "../api/lists";
import { useStrings } from "../strings";
import { applyFilters, kinds, priorities } from "./inbox-url";

interface FilterMenuProps<T extends string> {
  name: string;
  testId: string;
  chosen: T | undefined;
  names: Record<T, string>;
  values: readonly T[];
  onChoose: (chosen: T | undefined) => void;
}

function FilterMenu<T extends string>({ name, testId, chosen, names, values, onChoose }: FilterMenuProps<T>) {
  return (
    <Select<string>
      size="small" variant={chosen ? "filled" : "borderless"} allowClear aria-label={name} placeholder={name} data-testid={testId}
      value={chosen} popupMatchSelectWidth={false} options={values.map((value) => ({ value, label: names[value] }))}
      onChange={(value: string | undefined) => onChoose(values.find((each) => each === value))}
    />
  );
}

/** Narrow the list by kind and by priority. */
export default function FilterMenus({ filters }: { filters: Filters }) {
  const strings = useStrings();
  return (
    <>
      <FilterMenu
        name={strings.kindFilter} testId="filter-kind" chosen={filters.kind} names={strings.kinds} values={kinds}
        onChoose={(kind) => applyFilters({ ...filters, kind })}
      />
      <FilterMenu
        name={strings.priorityFilter} testId="filter-priority" chosen={filters.priority} names={strings.priorities} values={priorities}
        onChoose={(priority) => applyFilters({ ...filters, priority })}
      />
    </>
  );
}
