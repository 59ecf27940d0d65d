import { createContext, use } from 'react';
import type { CurrentProjectQuery } from '../../generated/console/projects.ts';

export type CurrentProject = NonNullable<CurrentProjectQuery['project']>;

export const CurrentProjectContext = createContext<CurrentProject | undefined>(undefined);

/** The project that the page is about. For pages of `routes.tsx` alone: elsewhere there is none. */
export function useProject(): CurrentProject {
  const project = use(CurrentProjectContext);
  if (!project) throw new Error('This page is not about a project.');
  return project;
}
