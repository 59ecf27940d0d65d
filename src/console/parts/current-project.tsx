import { createContext, use } from 'react';
import type { CurrentProjectQuery } from '../../generated/console/projects.ts';

export type CurrentProject = NonNullable<CurrentProjectQuery['project']>;

export const CurrentProjectContext = createContext<CurrentProject | undefined>(undefined);

/** The current page's project. Only pages in `routes.tsx` have one. */
export function useProject(): CurrentProject {
  const project = use(CurrentProjectContext);
  if (!project) throw new Error('useProject() must be called on a project page.');
  return project;
}
