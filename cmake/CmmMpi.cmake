# Decides whether the library cmm_mpi is built (docs/mpi.md): CMM_MPI AUTO, ON or OFF.
# Results: CMM_HAS_MPI; CMM_MPIEXEC, the command that starts ranks, up to their number.
#
# Another MPI than the compiler wrapper `mpicxx` stands for: -DMPI_CXX_COMPILER=mpicxx.mpich
# -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich
set(CMM_MPI AUTO CACHE STRING "build the MPI transport: AUTO (where MPI is found), ON, OFF")
set_property(CACHE CMM_MPI PROPERTY STRINGS AUTO ON OFF)
set(CMM_HAS_MPI OFF)
set(CMM_MPIEXEC "")
if(CMM_MPI)
  set(mpi_packages "Debian's packages: libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich")
  set(MPI_CXX_SKIP_MPICXX ON)  # MPI's own C++ interface, which the standard has dropped
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(CMM_HAS_MPI ON)
    message(STATUS "MPI transport: ${MPI_CXX_COMPILER}, MPI ${MPI_CXX_VERSION}")
  elseif(CMM_MPI STREQUAL "AUTO")
    message(STATUS "MPI transport: not built (MPI is missing; ${mpi_packages})")
  else()
    message(FATAL_ERROR "CMM_MPI=${CMM_MPI}: MPI is missing (${mpi_packages})")
  endif()
endif()
if(CMM_HAS_MPI AND MPIEXEC_EXECUTABLE)
  # Ranks may outnumber cores, and none is bound to one: each may have several threads.
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpiexec_version
                  ERROR_QUIET)
  set(CMM_MPIEXEC ${MPIEXEC_EXECUTABLE})
  if(mpiexec_version MATCHES "Open MPI|OpenRTE")
    list(APPEND CMM_MPIEXEC --allow-run-as-root --oversubscribe --bind-to none)
  endif()
  list(APPEND CMM_MPIEXEC ${MPIEXEC_NUMPROC_FLAG})
endif()
