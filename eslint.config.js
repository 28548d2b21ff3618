import tseslint from 'typescript-eslint';

/** Names that would let the host in; the compiler does not know them here, the linter says why. */
const hostGlobals = [
  'Date',
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'process',
  'Buffer',
  'console',
  'crypto',
  'fetch',
  'structuredClone',
  'WeakRef',
  'FinalizationRegistry',
  'SharedArrayBuffer',
  'Atomics',
  'Intl',
  'globalThis',
  'eval',
  'Promise',
  'Temporal',
];

const pureRules = {
  'no-restricted-globals': [
    'error',
    ...hostGlobals.map((name) => ({
      name,
      message: 'sim and wasm know no host (design: the law)',
    })),
  ],
  'no-restricted-properties': [
    'error',
    { object: 'Math', property: 'random', message: 'draw through decide()' },
    ...['localeCompare', 'toLocaleString', 'toLocaleUpperCase', 'toLocaleLowerCase'].map(
      (property) => ({ property, message: 'locale must not reach the run' }),
    ),
    // Transcendental functions may differ between engines and processors.
    ...['sin', 'cos', 'tan', 'exp', 'log', 'log2', 'log10', 'pow', 'atan2', 'cbrt', 'hypot'].map(
      (property) => ({ object: 'Math', property, message: 'not bit-exact on every engine' }),
    ),
  ],
  'no-restricted-syntax': [
    'error',
    { selector: 'ForInStatement', message: 'iterate arrays, Map and Set' },
    { selector: 'AwaitExpression', message: 'the core is synchronous' },
    {
      selector: ':function[async=true]',
      message: 'the core is synchronous',
    },
    {
      selector: "CallExpression[callee.property.name='sort'][arguments.length=0]",
      message: 'sort with a comparator',
    },
  ],
};

export default tseslint.config(
  {
    ignores: [
      'dist',
      'node_modules',
      '.athanor',
      'guests/built',
      'scenarios/spec/globals.d.ts',
      '*.config.ts',
      '**/*.js',
      '**/*.mjs',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: ['*/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'off',
      // Libraries hand out functions that do not use `this`, and do not say so.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/restrict-plus-operands': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      eqeqeq: 'error',
      'max-lines': ['error', { max: 600 }],
      'max-lines-per-function': ['error', { max: 80 }],
    },
  },
  { files: ['sim/**/*.ts', 'wasm/**/*.ts'], rules: pureRules },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
);
