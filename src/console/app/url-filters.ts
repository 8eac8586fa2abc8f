/** Filters of a list that are kept in the URL: a filtered list can be bookmarked, and Back from elsewhere finds it again. */
import { useSearchParams } from 'wouter';

/** What changes: a filter that becomes `undefined` or empty goes from the URL. */
export type FilterChange<Filters> = { [K in keyof Filters]?: Filters[K] | undefined };

/** @param read makes the filters from the URL's parameters, which may hold anything */
export function useUrlFilters<Filters extends object>(read: (params: URLSearchParams) => Filters): [Filters, (change: FilterChange<Filters>) => void] {
  const [params, setParams] = useSearchParams();
  const change = (next: FilterChange<Filters>) => setParams((old) => changed(old, Object.entries(next)), { replace: true });
  return [read(params), change];
}

function changed(params: URLSearchParams, filters: [string, unknown][]): URLSearchParams {
  const result = new URLSearchParams(params);
  for (const [name, value] of filters) {
    if (typeof value === 'string' && value !== '') result.set(name, value);
    else result.delete(name);
  }
  return result;
}

/** The parameter's value if it is one of `values`. */
export function oneOf<Value extends string>(params: URLSearchParams, name: string, values: readonly Value[]): Value | undefined {
  const value = params.get(name);
  return values.find((known) => known === value);
}
