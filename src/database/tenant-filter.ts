declare const tenant: unique symbol;

/**
 * Marks a filter that limits a query to what its caller may see. A `TenantClient` rejects every other filter at compile
 * time. The mark doesn't exist at run time. Only the files listed in `test/architecture.test.ts` set it.
 */
export type TenantFilter = { readonly [tenant]: true };

/** A marked filter, or an `AND` of filters. In that case, the marked filter must come first. */
export type Filtered = TenantFilter | { AND: [TenantFilter, ...unknown[]] };

/** The ID of a project that the caller may see. */
export type VisibleProjectId = string & TenantFilter;

/** Marks a filter. Call this only in code that controls access. */
export function marked<Where extends object>(where: Where): Where & TenantFilter {
  return where as Where & TenantFilter;
}

/** The filter for all of a visible project's rows. */
export function ofProject(projectId: VisibleProjectId): { projectId: string } & TenantFilter {
  return marked({ projectId });
}

type Row = { id: string; createdAt: Date };

/** The ID of a project that has already been read with a tenant filter, or that has just been created. */
export function visibleIdOf({ id }: Row): VisibleProjectId {
  return id as VisibleProjectId;
}

/** The ID of the project of a row that has already been read with a tenant filter. */
export function projectOf({ projectId }: Row & { projectId: string }): VisibleProjectId {
  return projectId as VisibleProjectId;
}

/** The filter for a row that has already been read with a tenant filter. */
export function sameRow({ id }: Row): { id: string } & TenantFilter {
  return marked({ id });
}

/**
 * A filter for rows, such as a project's webhooks, whose parent row has already been read with a tenant filter.
 *
 * @param _row the row that was read.
 */
export function belongingTo<Where extends object>(_row: Row, where: Where): Where & TenantFilter {
  return marked(where);
}
