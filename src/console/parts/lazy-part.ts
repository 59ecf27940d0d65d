import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

/** A component that is loaded when it is first shown. React's `lazy` needs default exports; ours are named. */
export function lazyPart<Name extends string, Props>(
  load: () => Promise<Record<Name, ComponentType<Props>>>,
  name: Name,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: (await load())[name] }));
}
