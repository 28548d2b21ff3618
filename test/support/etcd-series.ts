import { FORGET_VOTE, type SourceChange } from '../../guests/index.ts';

function own(file: string, from: string, to: string): SourceChange {
  return { path: `athanor/etcdraft/${file}`, from, to };
}

/** The build that is the first to forget for whom it voted. */
export const ETCD_SERIES_FIRST_BAD = 5;

/** What each build of the store over etcd's raft library changes besides all that its forerunner changed. */
const CHANGES: readonly SourceChange[] = [
  own('server.go', 'snapshotEvery = 40', 'snapshotEvery = 48'),
  own('server.go', '%s starts at term=%d index=%d', '%s begins at term=%d with index=%d'),
  // A draw of entropy that no other build before it makes.
  own(
    'server.go',
    'uint64(time.Now().UnixNano())',
    'uint64(time.Now().UnixNano()) + uint64(draw(9))',
  ),
  own('server.go', 'MaxInflightMsgs: 64', 'MaxInflightMsgs: 128'),
  FORGET_VOTE,
  own('client.go', 'triesMax       = 400', 'triesMax       = 500'),
  own('server.go', 'MaxSizePerMsg: 1 << 10', 'MaxSizePerMsg: 1 << 11'),
];

/** Eight builds in order, each as its changes to the sources. */
export const ETCD_SERIES: readonly (readonly SourceChange[])[] = [0, ...CHANGES.keys()].map(
  (_, index) => CHANGES.slice(0, index),
);
