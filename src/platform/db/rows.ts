/**
 * The rows that statements return. tables.ts says what is in a column of a table; a statement that renames columns, or
 * computes some, declares its row with these types where it lies.
 */

/** Columns under other names: `select org_id as "orgId" from users` returns `Named<Users, { orgId: 'org_id' }>`. */
export type Named<Table, Names extends Readonly<Record<string, keyof Table>>> = {
  -readonly [Name in keyof Names]: Table[Names[Name]];
};

/** The columns of a table by the names that they get: see `columnList`. */
export type Names<Table> = Readonly<Record<string, keyof Table & string>>;

/** Columns that an outer join may leave empty. */
export type Optional<Row> = { [Column in keyof Row]: Row[Column] | null };

/** Columns that have a value in the rows that a statement selects. */
export type Present<Row> = { [Column in keyof Row]: NonNullable<Row[Column]> };

/**
 * SQL: selects columns under their names. With `const ORG = { id: 'id', domain: 'primary_domain' } as const satisfies
 * Names<Organizations>`, `columnList(ORG)` is `id, primary_domain as "domain"`, and its rows are
 * `Named<Organizations, typeof ORG>`.
 * @param table its alias in the statement, if it needs one
 */
export function columnList(names: Readonly<Record<string, string>>, table?: string): string {
  const list = Object.entries(names).map(([name, column]) => {
    const full = table === undefined ? column : `${table}.${column}`;
    return name === column ? full : `${full} as "${name}"`;
  });
  return list.join(', ');
}

/**
 * The row of a statement that always returns one, such as an aggregate.
 * @throws Error if there is none: a mistake in the statement
 */
export function oneRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('A statement that always returns a row returned none.');
  return row;
}
