import { encodeUtf8 } from '../../../sim/index.ts';
import { COST_NS } from '../../preview1/costs.ts';
import { MARKER_BYTES_MAX } from '../../preview1/marker.ts';
import { STRING } from '../abi/sequences.ts';
import { voidRow, type HostInterface } from '../host-table.ts';

/** Says something to the properties of the run, as `athanor.marker` does for preview 1 modules. */
export const MARKER: HostInterface = {
  name: 'athanor:guest/marker',
  versions: /^0\.1\.\d+$/,
  costNs: COST_NS.file,
  resources: [],
  functions: [
    voidRow('mark', {
      params: [STRING],
      run: (host, line) => {
        const bytes = encodeUtf8(line);
        if (bytes.length > MARKER_BYTES_MAX) host.trap(`a marker of ${bytes.length} bytes`);
        host.port.marker(bytes);
      },
    }),
  ],
};
