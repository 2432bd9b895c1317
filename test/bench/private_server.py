"""A PostgreSQL server of its own, for the scripts beside this file."""

import os
import subprocess
import sys

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{root}'
autovacuum = off
checkpoint_timeout = 1d
"""


class PrivateServer:
    """The cluster and the socket are in ROOT, which may have a cluster from before."""

    def __init__(self, programs, root, settings, enter=None):
        """ENTER is called in the process that becomes the server."""
        self.programs, self.root = programs, root
        self.user = ['runuser', '-u', 'postgres', '--'] if os.getuid() == 0 else []
        if not os.path.exists(root + '/data'):
            if self.user:
                subprocess.run(['chown', 'postgres', root], check=True)
            self.run('initdb', '-D', root + '/data', '-U', 'postgres', '-A', 'trust', '-N')
            with open(root + '/data/postgresql.conf', 'a') as file:
                file.write(SETTINGS.format(root=root) + settings)
        if os.path.exists(root + '/data/postmaster.pid'):
            self.stop()
        self.run('pg_ctl', '-D', root + '/data', '-w', '-l', root + '/log', 'start', enter=enter)

    def run(self, program, *arguments, enter=None):
        done = subprocess.run(self.user + [os.path.join(self.programs, program), *arguments],
                              cwd=self.root, text=True, capture_output=True, preexec_fn=enter)
        if done.returncode:
            sys.exit('%s failed: %s' % (program, done.stderr))
        return done.stdout

    def psql(self, *arguments, **redirections):
        return subprocess.run([os.path.join(self.programs, 'psql'), '-XqAt', '-v', 'ON_ERROR_STOP=1', '-h', self.root,
                               '-U', 'postgres', 'postgres', *arguments], text=True, **redirections)

    def sql(self, script):
        done = self.psql(input=script, capture_output=True)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout.split('\n')[:-1]

    def copy(self, table, producer):
        """Into TABLE what the command PRODUCER prints."""
        lines = subprocess.Popen(producer, stdout=subprocess.PIPE)
        self.psql('-c', 'COPY %s FROM STDIN' % table, stdin=lines.stdout, check=True)

    def stop(self):
        self.run('pg_ctl', '-D', self.root + '/data', '-m', 'fast', '-w', 'stop')
