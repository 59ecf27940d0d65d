import { useMantineColorScheme } from '@mantine/core';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { CurrentProjectDocument, ProjectsDocument, type ProjectsQuery } from '../../../generated/console/projects.ts';
import { TestTargetsDocument } from '../../../generated/console/search.ts';
import { PAGE_ROUTES } from '../../pages/routes.tsx';
import { formatEnum } from '../../parts/format.ts';
import { roleObstacle } from '../../parts/role.tsx';
import { useTestEvent } from '../../parts/use-test-event.ts';
import { actionEntries } from './action-entries.ts';
import { type Entry, type EntryGroup, matching, type Step } from './entries.ts';
import { type FoundItem, nameOf, pageOf } from './found-items.ts';
import { pageEntries } from './page-entries.ts';
import { type Place, placeAt } from './places.ts';
import { relatedEntries } from './related-entries.ts';
import { testTargets } from './test-targets.ts';
import type { Found } from './use-found-items.ts';

const MAX_PROJECTS = 100;
const MAX_RECENT = 6;
const MAX_MATCHES = 6;

type Project = NonNullable<ProjectsQuery['projects']>['nodes'][number];

export type PaletteProps = {
  projectId: string | undefined;
  places: readonly Place[];
  remember(place: Place): void;
  onShortcuts(): void;
  onSignOut(): void;
};

/** The palette's entries for a text, in a certain step. */
export function useGroups(props: PaletteProps & { text: string; found: Found; step: Step | undefined }) {
  const { projectId, places, text, found, step, onShortcuts, onSignOut } = props;
  const [location] = useLocation();
  const { setColorScheme } = useMantineColorScheme();
  const [current] = useQuery({
    query: CurrentProjectDocument,
    variables: { id: projectId ?? '' },
    pause: projectId === undefined,
  });
  const [listed] = useQuery({ query: ProjectsDocument, variables: { first: MAX_PROJECTS } });
  const [targets] = useQuery({
    query: TestTargetsDocument,
    variables: { projectId: projectId ?? '' },
    pause: step !== 'testEvent' || projectId === undefined,
    requestPolicy: 'cache-and-network',
  });
  const trial = useTestEvent(projectId);
  const project = current.data?.project ?? undefined;
  const projects = new Map(listed.data?.projects?.nodes.map((one) => [one.id, one]));
  const elsewhere = (id: string) => (id === projectId ? undefined : projectName(projects.get(id)));
  const filtered = (entries: readonly Entry[]) => (text.trim() === '' ? entries : matching(entries, text));

  if (step === 'testEvent') {
    const entries = testTargets(targets.data, trial);
    return { groups: [{ title: 'Webhooks and connectors', entries: filtered(entries) }], isLoading: targets.fetching };
  }
  if (step === 'project') {
    const others = [...projects.values()].filter(({ id }) => id !== projectId);
    const known = filtered(others.map((one) => switchTo(one, location)));
    const more = found.items.filter(({ type, id }) => type === 'PROJECT' && id !== projectId && !projects.has(id));
    const entries = [...known, ...more.map((item) => itemEntry(item, undefined))];
    return { groups: [{ title: 'Projects', entries }], isLoading: listed.fetching };
  }

  const actions = actionEntries({
    projectId,
    obstacle: (lowest) => roleObstacle(project?.viewerRole ?? 'VIEWER', lowest),
    onColorScheme: setColorScheme,
    onShortcuts,
    onSignOut,
  });
  if (text.trim() === '') {
    const recent = recentEntries(places, location, elsewhere);
    return {
      groups: [
        { title: 'Recent', entries: recent },
        { title: 'Actions', entries: actions },
      ],
      isLoading: false,
    };
  }
  const items = found.items.map((item) =>
    itemEntry(item, item.type === 'PROJECT' ? undefined : elsewhere(item.projectId)),
  );
  const related = relatedEntries(found.pasted, project);
  const isName = found.pasted.kind === 'text';
  const groups: EntryGroup[] = [
    { title: 'Pages', entries: isName ? matching(pageEntries(projectId), text).slice(0, MAX_MATCHES) : related },
    { title: 'Actions', entries: isName ? matching(actions, text).slice(0, MAX_MATCHES) : [] },
    { title: 'Results', entries: items },
  ];
  return { groups, isLoading: false };
}

function projectName(project: Project | undefined): string {
  if (!project) return 'Other project';
  return project.mode === 'TEST' ? `${project.name} (test)` : project.name;
}

function itemEntry(item: FoundItem, project: string | undefined): Entry {
  const { id, type, label, status } = item;
  const detail = [project, status && formatEnum(status)].filter(Boolean).join(' · ');
  const place = { href: pageOf(item), type: nameOf(type), label, projectId: item.projectId };
  return { key: id, type: place.type, label, detail, href: place.href, place };
}

/** Leads to the same page of another project. */
function switchTo(project: Project, location: string): Entry {
  const page = placeAt(location, PAGE_ROUTES)?.type === 'Page' ? location.replace(/^\/projects\/[^/]+/, '') : '';
  return {
    key: project.id,
    type: 'Project',
    label: projectName(project),
    keywords: project.id,
    href: `/projects/${project.id}${page}`,
  };
}

function recentEntries(
  places: readonly Place[],
  location: string,
  elsewhere: (id: string) => string | undefined,
): Entry[] {
  return places
    .filter(({ href }) => href !== location)
    .slice(0, MAX_RECENT)
    .map(({ href, type, label, projectId }) => ({ key: href, type, label, detail: elsewhere(projectId), href }));
}
