/** Tables. On narrow screens rows become cards, and `data-label` labels each cell. */
import type { ReactNode } from 'react';

export type Column = string | { text: string; as: 'number' | 'hidden' };

/** A column of numbers, aligned to the right. */
export const num = (text: string): Column => ({ text, as: 'number' });
/** A column whose header only screen readers see. */
export const hidden = (text: string): Column => ({ text, as: 'hidden' });

/** `children` are the table rows. */
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
