import { Select } from "antd";
import type { Filters } from "../api/lists";
import { useStrings } from "../strings";
import { applyFilters, kinds, priorities } from "./inbox-url";

interface FilterMenuProps<T extends string> {
  name: string;
  testId: string;
  value: T | undefined;
  names: Record<T, string>;
  values: readonly T[];
  onChoose: (value: T | undefined) => void;
}

function FilterMenu<T extends string>({ name, testId, value, names, values, onChoose }: FilterMenuProps<T>) {
  return (
    <Select<string>
      size="small" variant={value ? "filled" : "borderless"} allowClear aria-label={name} placeholder={name} data-testid={testId}
      value={value} popupMatchSelectWidth={false} options={values.map((option) => ({ value: option, label: names[option] }))}
      onChange={(option: string | undefined) => onChoose(values.find((each) => each === option))}
    />
  );
}

/** Narrow the list by kind and by priority. */
export default function FilterMenus({ filters }: { filters: Filters }) {
  const strings = useStrings();
  return (
    <>
      <FilterMenu
        name={strings.kindFilter} testId="filter-kind" value={filters.kind} names={strings.kinds} values={kinds}
        onChoose={(kind) => applyFilters({ ...filters, kind })}
      />
      <FilterMenu
        name={strings.priorityFilter} testId="filter-priority" value={filters.priority} names={strings.priorities} values={priorities}
        onChoose={(priority) => applyFilters({ ...filters, priority })}
      />
    </>
  );
}
