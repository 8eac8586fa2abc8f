// The directions between the modules (design): each module knows only the next one.
const only = (from, allowed, extra = {}) => ({
  name: `${from}-imports`,
  comment: `src/${from} may import only ${allowed.join(', ') || 'itself'}`,
  severity: 'error',
  from: { path: `^src/${from}/`, pathNot: extra.except ?? '^$' },
  to: { path: '^(src|native|engine)/', pathNot: [`^src/${from}/`, ...allowed.map((module) => `^${module}`)] },
});

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'types included; the generator copies its client, two files of which name types of each other',
      severity: 'error',
      from: { pathNot: '^src/sdk/client/[^/]+\\.gen\\.ts$' },
      to: { circular: true },
    },
    only('domain', []),
    only('contract', ['src/domain/']),
    only('sdk', []),
    only('store', ['src/domain/']),
    only('storage', ['src/domain/']),
    only('postgres', []),
    only('evidence', ['src/domain/']),
    only('observability', ['src/store/', 'src/storage/']),
    only('net', ['src/domain/', 'src/media/types.ts']),
    only('media', ['src/domain/', 'native/']),
    only('http', ['src/contract/', 'src/domain/', 'src/store/', 'src/storage/', 'src/media/types.ts']),
    only('jobs', ['src/domain/', 'src/store/', 'src/storage/', 'src/media/', 'src/net/', 'src/evidence/']),
    // The composition root: whatever a process is made of.
    only('app', ['src/(domain|store|storage|postgres|evidence|observability|net|media|http|jobs)/']),
    only('demo', ['src/domain/', 'src/storage/', 'src/app/']),
    only('cli', ['src/(app|observability|demo|domain|contract|store|storage|media|evidence|sdk)/']),
    // The page is built apart and speaks to the service over HTTP only: of the other modules it may know types.
    // It sends files as other web pages do: by the SDK's function for them.
    only('console', ['src/contract/types.gen.ts', 'src/sdk/types.gen.ts', 'src/sdk/uploads.ts']),
    {
      name: 'console-knows-types-only',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/(contract|sdk)/', pathNot: '^src/sdk/uploads[.]ts$', dependencyTypesNot: ['type-only'] },
    },
    only('site', ['src/contract/plugin/audience.ts', 'src/console/app/theme-choice.ts']),
    { name: 'nobody-imports-the-site', severity: 'error', from: { path: '^src/', pathNot: '^src/site/' }, to: { path: '^src/site/' } },
    { name: 'nobody-imports-the-console', severity: 'error', from: { path: '^src/', pathNot: '^src/console/' }, to: { path: '^src/console/', pathNot: '^src/console/app/theme-choice[.]ts$' } },
    {
      name: 'only-media-loads-the-addon',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/media/' },
      to: { path: '^native/' },
    },
    { name: 'no-loose-files', comment: 'every file of src/ lies in a module', severity: 'error', from: { path: '^src/[^/]+$' }, to: {} },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['node', 'import', 'types'] },
  },
};
