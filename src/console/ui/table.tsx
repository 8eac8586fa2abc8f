/** Tables: rows of cells that become cards on a narrow screen, where each cell's `data-label` names it. */
import type { ReactNode } from 'react';

export type Column = string | { text: string; as: 'number' | 'hidden' };

/** Its cells hold numbers, which stand at the right. */
export const num = (text: string): Column => ({ text, as: 'number' });
/** Its cells speak for themselves; only a screen reader names the column. */
export const hidden = (text: string): Column => ({ text, as: 'hidden' });

/** `children` are the rows. */
export function Table({ columns, children }: { columns: readonly Column[]; children: ReactNode }) {
  return (
    <div className="table-scroll">
      <table className="table cards">
        <thead>
          <tr>{columns.map(heading)}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function heading(column: Column) {
  if (typeof column === 'string') return <th key={column}>{column}</th>;
  const { text, as } = column;
  if (as === 'number') return <th key={text} className="num">{text}</th>;
  return (
    <th key={text}>
      <span className="visually-hidden">{text}</span>
    </th>
  );
}
