import { preparedStatements, type Statement, type Variants } from '../database/statement.ts';
import { sharedProjectIds } from './access.ts';
import type { Viewer } from './viewer.ts';

/**
 * The filter `visibleProjects` of `access.ts` in SQL, on a row of "Project": for an API key, for a person without shared projects, and for
 * everyone else. `project` is the table's name or alias, and `parameter` is the value's placeholder, for example, `$2`.
 */
const CONDITIONS = {
  key: (project: string, parameter: string) => `${project}."id" = ${parameter}`,
  own: (project: string, parameter: string) => `${project}."userId" = ${parameter}`,
  // The person's ID comes first, then those of the shared projects. An export can keep the same viewer for hours, so every
  // statement checks the membership again.
  shared: (project: string, parameter: string) =>
    `(${project}."userId" = (${parameter}::text[])[1] OR ${project}."id" = ANY(${parameter}::text[]) AND EXISTS (
       SELECT FROM "ProjectMember" member WHERE member."projectId" = ${project}."id" AND member."userId" = (${parameter}::text[])[1]
     ))`,
};
type Condition = keyof typeof CONDITIONS;

/**
 * Text with a placeholder for the condition, such as `{visible project $2}` for a table or alias named `project`. Its
 * parameter is the last one.
 */
type VisibleSql = `${string}{visible ${string} $${number}}${string}`;

/**
 * Defines a handwritten SQL statement with this filter. Text without a placeholder for it doesn't compile. Run it with
 * `visibleQuery`.
 */
export function visibleStatements<Name extends string>(name: Name, text: VisibleSql): Variants<Name, Condition> {
  return preparedStatements(name, ['key', 'own', 'shared'], (condition) =>
    text.replace(/\{visible (\S+) (\$\d+)\}/, (_, project: string, parameter: string) =>
      CONDITIONS[condition](project, parameter),
    ),
  );
}

type BindVisible<Values extends readonly unknown[], Row> = {
  [C in Condition]: (
    ...values: [...Values, (C extends 'shared' ? readonly string[] : string) | null]
  ) => Statement<Row>;
};

/** Adds the values to a statement made with `visibleStatements`, which then finds only what the viewer can see. */
export function visibleQuery<Values extends readonly unknown[], Row>(
  viewer: Viewer,
  bind: BindVisible<Values, Row>,
  ...values: Values
): Statement<Row> {
  if (viewer.kind === 'apiKey') return bind.key(...values, viewer.projectId);
  const shared = sharedProjectIds(viewer);
  if (shared.length === 0) return bind.own(...values, viewer.userId);
  return bind.shared(...values, [viewer.userId, ...shared]);
}
