import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** Debian's Chromium. */
export const CHROMIUM = '/usr/bin/chromium';

/** Why no page can be shown here, or null. */
export function chromiumMissing(): string | null {
  return existsSync(CHROMIUM) ? null : `no ${CHROMIUM}: apt-get install chromium`;
}

/** A browser without a window, and without a word to the network of its own. */
export function launchChromium(): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet],
  });
}
