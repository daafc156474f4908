import os

# Where triton is installed, its kernels are interpreted on the CPU: for this process and those
# that tests start, and before torch imports it.
os.environ.setdefault('TRITON_INTERPRET', '1')
